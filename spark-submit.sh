#!/usr/bin/env bash
# Runs a job of this project on Apache Spark, from any directory. See usage below and conf/spark/.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: ./spark-submit.sh jobs/JOB.py [job options] [--spark spark-submit options]

  SPARK_MASTER         where to run (default local[*]); or --master after --spark
  SPARK_PROFILE        settings: conf/spark/PROFILE.conf (default local on a local master, else cluster)
  ENGINE_MEMORY        memory of a local Spark, such as 8g (default half of the machine's);
                       SPARK_DRIVER_MEMORY is Spark's own name for it, also on a cluster
  SPARK_LOG_LEVEL      Spark's own log on stderr (default warn)
TEXT
}

fail() {
  echo "spark-submit.sh: $1" >&2
  exit 2
}

case ${1:-} in
  "") usage | head -n 1 >&2 && exit 2 ;;
  -h | --help) usage && exit 0 ;;
esac

# The project is where this script is, also behind a symbolic link.
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
# Spark takes its jars and packages as a list of URIs, in which these characters mean something else.
[[ $root != *[][\#%,:?*{}\\\"[:cntrl:]]* ]] ||
  fail "Spark can't load jars from $(printf %q "$root"); move the project to a folder of letters, digits and ._-"

job=$1
shift
[[ -f $job || $job == /* ]] || job=$root/$job
[[ -f $job ]] || fail "no such job: $job"

job_options=()
while [[ $# -gt 0 && $1 != --spark ]]; do
  job_options+=("$1")
  shift
done
[[ $# -eq 0 ]] || shift # --spark itself

# A master given to spark-submit decides the profile as well, and memory what follows from it.
mode= master=${SPARK_MASTER:-local[*]} memory=${SPARK_DRIVER_MEMORY:-${ENGINE_MEMORY:-}} previous=
properties= own_jars= own_files= asks=
for word; do
  [[ $word == -* ]] && option=$word || option=$previous=$word
  case $option in
    -h | --help | --version | --kill=* | --status=*) asks=true ;;
    --jars=*) own_jars=,${option#*=} ;;
    --py-files=*) own_files=,${option#*=} ;;
    --properties-file=*) properties=${option#*=} ;;
    --master=*) master=${option#*=} ;;
    --deploy-mode=* | --conf=spark.submit.deployMode=* | -c=spark.submit.deployMode=*) mode=${option##*=} ;;
    --driver-memory=* | --conf=spark.driver.memory=* | -c=spark.driver.memory=*) memory=${option##*=} ;;
  esac
  previous=$word
done
[[ $master == local* ]] && profile=${SPARK_PROFILE:-local} || profile=${SPARK_PROFILE:-cluster}
conf=$root/conf/spark
[[ -f $conf/$profile.conf ]] || fail "no such profile: $profile (SPARK_PROFILE; there is no conf/spark/$profile.conf)"

venv=$root/.venv
python=$venv/bin/python
SPARK_HOME=$(echo "$venv"/lib/python3.*/site-packages/pyspark)
delta=("$root"/.jars/delta-spark_*.jar)
storage=("$root"/.jars/delta-storage-*.jar)
[[ ! -e $venv/.incomplete && -x $python && -f $SPARK_HOME/bin/spark-submit && -f ${delta[0]} && -f ${storage[0]} ]] ||
  fail "run make setup first"
packages=$("$python" "$root/tools/package.py")
# What Java would say of it names no variable.
[[ -z $memory || $memory =~ ^[1-9][0-9]*[kKmMgGtT]?$ ]] ||
  fail "the driver's memory is $(printf %q "$memory"); write a size such as 4g or 512m"

# A job has a Spark of its own, also in a shell that is set up for Spark Connect.
unset SPARK_REMOTE SPARK_CONNECT_MODE_ENABLED SPARK_LOCAL_REMOTE
# Python keeps what it has compiled. Many containers forbid that; then each run compiles pandas anew, for a second.
unset PYTHONDONTWRITEBYTECODE
# What the job prints as the next command is called as this script was.
export SPARK_HOME ENGINE=spark SPARK_SUBMIT_SH=$0 PATH=$venv/bin:$PATH
# Times and text mean the same whatever the machine is set to.
export TZ=UTC LC_ALL=C.UTF-8
# Log4j reads this itself, so a --driver-java-options after --spark does not switch it off.
export LOG4J_CONFIGURATION_FILE=$conf/log4j2.properties
submit=(--master "$master" --properties-file "$conf/$profile.conf")
if [[ $profile == local ]]; then
  export PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
  # The same as the embedded engine takes: pipelines/engine/session.py.
  half='import psutil; print(psutil.virtual_memory().total // 2**21, "m", sep="")'
  export SPARK_DRIVER_MEMORY=${memory:-$("$python" -c "$half")}
  # What is said after --spark goes before these.
  while read -r setting; do
    submit+=(--conf "$setting")
  done < <("$python" "$root/tools/local_spark.py" "$job" ${job_options[@]+"${job_options[@]}"})
else
  # On a cluster the workers may have their Python elsewhere, and its own settings hold where ours are silent.
  export PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python} PYSPARK_DRIVER_PYTHON=${PYSPARK_DRIVER_PYTHON:-$python}
  submit+=(--load-spark-defaults)
fi

submit+=(--jars "${delta[0]},${storage[0]}" --py-files "$packages" "$@")
# Of two lists the last one counts: the user's come on top of ours.
[[ -z $own_jars ]] || submit+=(--jars "${delta[0]},${storage[0]}$own_jars")
[[ -z $own_files ]] || submit+=(--py-files "$packages$own_files")
if [[ -z $mode ]]; then
  files=("${properties:-$conf/$profile.conf}")
  [[ $profile == local ]] || files+=("${SPARK_CONF_DIR:-$SPARK_HOME/conf}/spark-defaults.conf")
  says='s/^[[:space:]]*spark\.submit\.deployMode[[:space:]=:]+([a-z]+).*/\1/p'
  mode=$(sed -nE "$says" "${files[@]}" 2>/dev/null | head -n 1) || true
fi

# exec: a signal ends the job, and the exit code is the job's.
if [[ ${mode:-${DEPLOY_MODE:-client}} == cluster || -n $asks ]]; then
  exec "$SPARK_HOME/bin/spark-submit" "${submit[@]}" "$job" ${job_options[@]+"${job_options[@]}"}
fi
# The job starts Spark, and not Spark the job: Spark would send all that the job prints to standard output.
export PYTHONPATH=$packages${PYTHONPATH:+:$PYTHONPATH}
PYSPARK_SUBMIT_ARGS=$("$python" -Ic 'import shlex, sys; print(shlex.join(sys.argv[1:]))' "${submit[@]}" pyspark-shell)
export PYSPARK_SUBMIT_ARGS
exec "$PYSPARK_DRIVER_PYTHON" "$job" ${job_options[@]+"${job_options[@]}"}
