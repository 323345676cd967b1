// Carries connections between a machine, which has a network of its own, and sockets in its folder, which have none.
//
// Each argument is FROM=TO. Either is unix:PATH, or tcp:PORT of this machine's loopback.
package main

import (
	"io"
	"log"
	"net"
	"os"
	"strings"
)

// place returns network and address of one side.
func place(side string) (string, string) {
	network, address, found := strings.Cut(side, ":")
	if !found {
		log.Fatalf("%q is neither unix:PATH nor tcp:PORT", side)
	}
	if network == "tcp" {
		address = "127.0.0.1:" + address
	}
	return network, address
}

type halfCloser interface{ CloseWrite() error }

// pump copies until the end, and passes that on.
func pump(to, from net.Conn) {
	io.Copy(to, from)
	to.(halfCloser).CloseWrite()
}

func carry(from net.Conn, to string) {
	defer from.Close()
	other, err := net.Dial(place(to))
	if err != nil {
		return
	}
	defer other.Close()
	done := make(chan struct{})
	go func() {
		pump(other, from)
		close(done)
	}()
	pump(from, other)
	<-done
}

func serve(listener net.Listener, to string) {
	for {
		from, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go carry(from, to)
	}
}

func main() {
	for _, argument := range os.Args[1:] {
		from, to, _ := strings.Cut(argument, "=")
		listener, err := net.Listen(place(from))
		if err != nil {
			log.Fatal(err)
		}
		go serve(listener, to)
	}
	select {}
}
