// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort returns a port that is free on the loopback interface, as is the one
// 10,000 above, where members of a Redis cluster talk. Both lie below the ports
// that systems give to outgoing connections, so that a server that restarts
// finds its port free.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 10_000 + rand.IntN(12_000)
		if err = probe(port); err == nil {
			err = probe(port + 10_000)
		}
		if err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("servers: 100 ports in a row are taken, the last one: %w", err)
}

func probe(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}
