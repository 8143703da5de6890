#!/bin/sh
# /srv/priorities/record.sh SERVER: record a server, unless its recorder runs already.
cd /srv/priorities || exit 2
PATH=$PWD/venv/bin:$PATH
if [ -f login ]; then . ./login; fi
flock --nonblock --conflict-exit-code 5 "log/.recorder-$1" \
  priorities capture --server "$1" --every 5min --keep 14d --config priorities.yaml
code=$?
if [ "$code" = 5 ]; then exit 0; fi
exit "$code"
