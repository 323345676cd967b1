package hetzner

import (
	"context"
	"sync"
	"time"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

const (
	// fresh is how old what is known of the servers may be.
	fresh = 10 * time.Second
	// settled is how old it may be for the gateway of a new route.
	settled = time.Minute
)

// servers is what was last known of all the account's servers. Whoever finds it too old, or misses a server, reads all of them again.
type servers struct {
	api *hcloud.Client

	mutex  sync.Mutex
	listed time.Time
	all    []*hcloud.Server
}

// list returns all servers as they were no longer ago than this.
func (s *servers) list(ctx context.Context, age time.Duration) ([]*hcloud.Server, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if time.Since(s.listed) > age {
		if err := s.read(ctx); err != nil {
			return nil, err
		}
	}
	return s.all, nil
}

// find returns the server that is meant, as it was no longer ago than this. Nil: there is none.
func (s *servers) find(
	ctx context.Context, age time.Duration, meant func(*hcloud.Server) bool,
) (*hcloud.Server, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if time.Since(s.listed) <= age {
		if found := s.first(meant); found != nil {
			return found, nil
		}
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	return s.first(meant), nil
}

func (s *servers) read(ctx context.Context) error {
	all, err := s.api.Server.All(ctx)
	if err != nil {
		return err
	}
	s.all, s.listed = all, time.Now()
	return nil
}

func (s *servers) first(meant func(*hcloud.Server) bool) *hcloud.Server {
	for _, server := range s.all {
		if meant(server) {
			return server
		}
	}
	return nil
}
