module aerostat.dev/sdk

go 1.26
