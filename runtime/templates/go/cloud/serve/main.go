// Serves the cloud in memory on loopback: go run ./cloud/serve 8080, and the URL is printed.
package main

import (
	"log"
	"os"
	"strconv"

	"aerostat.dev/sdk/cloudtest"

	"newcloud.example/provider/cloud"
)

func main() {
	port := 0
	if len(os.Args) > 1 {
		var err error
		if port, err = strconv.Atoi(os.Args[1]); err != nil {
			log.Fatal(err)
		}
	}
	log.Fatal(cloudtest.Serve(cloud.New(), uint16(port)))
}
