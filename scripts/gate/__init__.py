"""The gate and the nightly run: stages, what runs beside what, timings, second tries, reports.

python -m scripts.gate                every stage of the gate, as `.ci/run` does
python -m scripts.gate nightly        every stage of the nightly run
python -m scripts.gate check          the stages of one kind: `check` or `test`
python -m scripts.gate tests wheel    only these stages

`stages.py` lists the stages of both tiers. `changes.py` says which nightly stages the gate adds
when a file that they protect has changed. `runner.py` runs stages side by side. `recorder.py` is
the pytest plugin behind the timings, `tracing.py` the one behind the coverage of the core.
"""
