// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"context"
	"net"
	"strings"
)

// StartAt starts a server that was stopped, and takes what answers at an address
// for its answer.
func StartAt(s *Server, addr string) error {
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	_, other, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	s.check = func(context.Context) error { return nil } // the other server answers
	for i, arg := range s.args {
		s.args[i] = strings.ReplaceAll(arg, port, other)
	}
	s.Addr = addr
	return s.start()
}
