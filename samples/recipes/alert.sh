#!/bin/sh
# /srv/priorities/alert.sh CODE: mail what an exit code means; systemd gives EXIT_STATUS in place of CODE.
code=${1:-${EXIT_STATUS:-unknown}}
case $code in
  0) exit 0 ;;
  2) text="Settings, catalog or rules are wrong. Correct the line that the log names." ;;
  3) text="An input breaks its contract, or too many rows were rejected. Nothing was published." ;;
  5) text="Another command was writing the warehouse. Nothing was written; the next run catches up." ;;
  6) text="The night is published, but a condition of the settings is not met."
     cd /srv/priorities || exit 2
     PATH=$PWD/venv/bin:$PATH
     priorities expect >/dev/null 2>&1
     [ $? = 6 ] && text="$text An expectation is not met: priorities expect."
     priorities metrics 2>/dev/null | grep -q '^service_broker_unresolved [1-9]' &&
       text="$text Some messages are not matched to a queue: priorities waiting." ;;
  *) text="A capture or a command failed. Read the log, then run it again." ;;
esac
# In place of mail, put any command that takes the text on standard input.
echo "$text" | mail -s "priorities on $(uname -n): exit code $code" dba@example.com
