// A provider in Go that does what a provider must not. A node's name is the crime to commit for it. What a crime found out comes
// back as an invalid request.
package main

import (
	crypto "crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"aerostat.dev/sdk/http"
	"aerostat.dev/sdk/instances"
	"aerostat.dev/sdk/loadbalancers"
	"aerostat.dev/sdk/log"
	"aerostat.dev/sdk/provider"
	"aerostat.dev/sdk/types"
)

const prefix = "hostile://"

type hostile struct{}

func init() {
	provider.Export(hostile{})
	instances.Export(hostile{})
	loadbalancers.Export(hostile{})
}

func main() {}

func (hostile) Describe() (provider.Description, error) {
	return provider.Description{
		Name: "hostile", Version: "1.0.0", ProviderIDPrefixes: []string{prefix}, GetBatchSize: 1, ListPageSize: 100,
	}, nil
}

func (hostile) Identity() (*string, error) { return nil, nil }

func (hostile) Get(nodes []types.Node) []types.Result[*instances.Instance] {
	return instances.Each(nodes, commit)
}

func (hostile) CanonicalIDs(ids []string) []types.Result[string] {
	return instances.CanonicalAsSpelled(ids)
}

func (hostile) List(*string, uint32) (instances.Page, error) { return instances.Page{}, nil }

func (hostile) Ensure(loadbalancers.LoadBalancer) (loadbalancers.Progress, error) {
	return loadbalancers.ProgressNotManaged{}, nil
}

func (hostile) Delete(loadbalancers.LoadBalancer) (loadbalancers.Deletion, error) {
	return loadbalancers.DeletionDone{}, nil
}

func commit(node types.Node) (*instances.Instance, error) {
	crime, about, _ := strings.Cut(node.Name, ":")
	switch crime {
	case "spin":
		for number := uint64(0); ; number++ {
			kept = number
		}
	case "eat-memory":
		for {
			blocks = append(blocks, make([]byte, 1<<20))
		}
	case "make-garbage":
		// As much in the end as memory has several times over, but never much at a time.
		sum := 0
		for range 400 {
			block := make([]byte, 1<<20)
			block[len(block)-1] = 1
			blocks = [][]byte{block}
			sum += len(block)
		}
		return report("%d MiB", sum>>20)
	case "recurse":
		return report("%d", recurse(0))
	case "panic":
		panic(about)
	case "exit":
		os.Exit(3)
	case "deadlock":
		var never sync.Mutex
		never.Lock()
		never.Lock()
	case "sleep-an-hour":
		time.Sleep(time.Hour)
		return report("slept")
	case "sleep-a-moment":
		start := time.Now()
		time.Sleep(50 * time.Millisecond)
		return report("%v", time.Since(start) >= 50*time.Millisecond)
	case "goroutines":
		return goroutines(about)
	case "environment":
		return environment()
	case "clock":
		return report("%d", time.Now().Unix())
	case "randomness":
		var bytes [13]byte
		if _, err := crypto.Read(bytes[:]); err != nil {
			return nil, err
		}
		return report("%x", bytes)
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 10_000))
		log.Write(log.LevelWarn, "to the log", [][2]string{{"key", "value"}})
		return report("printed")
	case "fetch":
		endpoint, path, _ := strings.Cut(about, "/")
		response, err := http.Get(endpoint, path).Answer()
		if err != nil {
			return nil, err
		}
		return report("%d with %d bytes", response.Status, len(response.Body))
	}
	id := prefix + node.Name
	return &instances.Instance{Name: node.Name, ProviderID: &id}, nil
}

var (
	kept   uint64
	blocks [][]byte
)

func recurse(depth int) int { return recurse(depth+1) + 1 }

// goroutines ask the cloud side by side, as far as the host lets them.
func goroutines(endpoint string) (*instances.Instance, error) {
	var group sync.WaitGroup
	answers := make([]int, 20)
	for i := range answers {
		group.Go(func() {
			if response, err := http.Get(endpoint, fmt.Sprint(i)).Answer(); err == nil {
				answers[i] = len(response.Body)
			}
		})
	}
	group.Wait()
	return report("%v", answers)
}

// environment is what can be seen of the machine.
func environment() (*instances.Instance, error) {
	_, file := os.ReadFile("/etc/hostname")
	_, folder := os.ReadDir("/")
	_, made := os.Create("here")
	_, dialed := net.DialTimeout("tcp", "127.0.0.1:1", time.Second)
	return report("%v %d %t %t %t %t", os.Environ(), len(os.Args), file != nil, folder != nil, made != nil, dialed != nil)
}

func report(format string, arguments ...any) (*instances.Instance, error) {
	return nil, types.Invalidf(format, arguments...)
}
