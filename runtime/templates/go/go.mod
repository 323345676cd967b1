module newcloud.example/provider

go 1.26

require aerostat.dev/sdk v0.0.0

replace aerostat.dev/sdk => ../../../guest-sdk/go // new: sdk
