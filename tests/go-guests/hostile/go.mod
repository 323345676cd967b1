module aerostat.dev/tests/go-guests/hostile

go 1.26

require aerostat.dev/sdk v0.0.0

replace aerostat.dev/sdk => ../../../guest-sdk/go
