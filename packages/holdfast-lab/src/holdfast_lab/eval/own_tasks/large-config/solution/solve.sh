#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i '/^\[service.worker-317\]/,/^timeout/ s/^timeout = 30/timeout = 90/' services.ini
sed -i '/^\[service.worker-042\]/,/^replicas/ s/^replicas = 2/replicas = 5/' services.ini
