module aerostat.dev/tests/machine/programs

go 1.26.0
