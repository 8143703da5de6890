#!/usr/bin/env bash
# Runs a job of this project on Spark, from any directory. See usage below and conf/spark/.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./spark-submit.sh jobs/JOB.py [job options] [--spark spark-submit options]

  SPARK_MASTER         where to run (default local[*]); or --master after --spark
  SPARK_PROFILE        settings: conf/spark/PROFILE.conf (default local on a local master, else cluster;
                       small is local for nights of up to some 50,000 events)
  SPARK_DRIVER_MEMORY  memory of the driver (default 4g in the local profile, else Spark's own default)
  SPARK_LOG_LEVEL      Spark's own log on stderr (default warn)
TEXT
}

fail() {
  echo "spark-submit.sh: $1" >&2
  exit 2
}

if [[ $# -eq 0 ]]; then
  usage | head -n 1 >&2
  exit 2
fi
if [[ $1 == -h || $1 == --help ]]; then
  usage
  exit 0
fi

# The project is where this script is, also behind a symbolic link.
script=${BASH_SOURCE[0]}
while [[ -L $script ]]; do
  link=$(readlink "$script")
  [[ $link == /* ]] || link=$(dirname "$script")/$link
  script=$link
done
root=$(cd "$(dirname "$script")" && pwd -P)

job=$1
shift
if [[ ! -f $job && $job != /* && -f $root/$job ]]; then
  job=$root/$job
fi
if [[ ! -f $job ]]; then
  usage | head -n 1 >&2
  fail "no such job: $job (looked here and in the project)"
fi

job_options=()
while [[ $# -gt 0 && $1 != --spark ]]; do
  job_options+=("$1")
  shift
done
[[ $# -eq 0 ]] || shift # --spark itself
spark_options=("$@")

# A master given to spark-submit decides the profile as well.
master=${SPARK_MASTER:-local[*]}
for ((i = 0; i < ${#spark_options[@]}; i++)); do
  case ${spark_options[i]} in
    --master) master=${spark_options[i + 1]:-$master} ;;
    --master=*) master=${spark_options[i]#--master=} ;;
  esac
done
case $master in
  local*) profile=${SPARK_PROFILE:-local} ;;
  *) profile=${SPARK_PROFILE:-cluster} ;;
esac
conf=$root/conf/spark
[[ -f $conf/$profile.conf ]] || fail "no such profile: $profile (SPARK_PROFILE; there is no conf/spark/$profile.conf)"

venv=$root/.venv
python=$venv/bin/python
spark_home=$(echo "$venv"/lib/python3.*/site-packages/pyspark)
delta=("$root"/.jars/delta-spark_*.jar)
storage=("$root"/.jars/delta-storage-*.jar)
if [[ -e $venv/.incomplete || ! -x $python || ! -f $spark_home/bin/spark-submit ]] ||
  [[ ! -f ${delta[0]} || ! -f ${storage[0]} ]]; then
  fail "run make setup first"
fi
packages=$("$python" "$root/tools/package.py")

export SPARK_HOME=$spark_home
# A job writes, so it has a Spark of its own, also in a shell that is set up for Spark Connect.
unset SPARK_REMOTE
export PATH=$venv/bin:$PATH
# Times and text mean the same whatever the machine is set to.
export TZ=UTC LC_ALL=C.UTF-8
# Log4j reads this itself, so a --driver-java-options after --spark does not switch it off.
export LOG4J_CONFIGURATION_FILE=$root/conf/spark/log4j2.properties
# The classes that `make fast-start` kept. To an archive of another JVM the JVM pays no heed.
classes=$venv/classes.jsa
if [[ -f $classes ]]; then
  SPARK_SUBMIT_OPTS="${SPARK_SUBMIT_OPTS:-} -XX:SharedArchiveFile=\"$classes\" -Xlog:cds*=off"
  export SPARK_SUBMIT_OPTS
fi
submit=(--master "$master")
if [[ $profile == small ]]; then
  # On top of the local profile; what follows --spark comes later and so wins.
  while read -r name value || [[ -n $name ]]; do
    [[ -z $name || $name == \#* ]] || submit+=(--conf "$name=$value")
  done <"$conf/small.conf"
  profile=local
fi
submit+=(--properties-file "$conf/$profile.conf")
if [[ $profile == local ]]; then
  export PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
  export SPARK_DRIVER_MEMORY=${SPARK_DRIVER_MEMORY:-4g}
else
  # On a cluster the workers may have their Python elsewhere, and its own settings hold where ours are silent.
  export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python} PYSPARK_DRIVER_PYTHON=${PYSPARK_DRIVER_PYTHON:-$python}
  submit+=(--load-spark-defaults)
fi

# exec: signals reach the supervisor, which passes them on to the job; the job's exit code is this script's.
exec "$python" "$root/tools/supervise.py" "$SPARK_HOME/bin/spark-submit" "${submit[@]}" \
  --jars "${delta[0]},${storage[0]}" \
  --py-files "$packages" \
  ${spark_options[@]+"${spark_options[@]}"} \
  "$job" ${job_options[@]+"${job_options[@]}"}
