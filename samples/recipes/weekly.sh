#!/bin/sh
# /srv/priorities/weekly.sh: delete old as_ofs and events, and move old captures away.
cd /srv/priorities || exit 2
PATH=$PWD/venv/bin:$PATH
date -u '+%Y-%m-%dT%H:%M:%SZ week' >&2
priorities maintain --keep-days 90 --keep-event-days 100 || exit
for folder in captures; do # each folder of the settings
  mkdir -p "archive/$folder"
  find "$folder" -maxdepth 1 -type f ! -name '.*' -mtime +30 -exec mv {} "archive/$folder/" ';'
done
