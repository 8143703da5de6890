#!/bin/sh
# /srv/priorities/night.sh: capture each server, then describe the newest moment.
cd /srv/priorities || exit 2
PATH=$PWD/venv/bin:$PATH
if [ -f login ]; then . ./login; fi
date -u '+%Y-%m-%dT%H:%M:%SZ night' >&2
failed=0
for server in SQL1 SQL2; do
  priorities capture --server "$server" || failed=1
done
priorities nightly --as-of latest --quiet --fail-on unresolved || exit
exit "$failed"
