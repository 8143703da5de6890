#!/bin/sh
# /srv/priorities/watch.sh: describe the present moment by the captures of recorders, for monitoring tools.
cd /srv/priorities || exit 2
PATH=$PWD/venv/bin:$PATH
now=$(date -u '+%Y-%m-%dT%H:%M:%SZ')
echo "$now watch" >&2
priorities nightly --as-of "$now" --quiet --metrics metrics/service_broker.prom
