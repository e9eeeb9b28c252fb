// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"net"
	"strconv"
)

// reachable returns the values of the header Host with which other machines reach an address; nil
// for loopback, which needs none.
func reachable(a *net.TCPAddr) (hosts []string) {
	port := strconv.Itoa(a.Port)
	switch {
	case a.IP.IsLoopback():
		return nil
	case !a.IP.IsUnspecified():
		return []string{net.JoinHostPort(a.IP.String(), port)}
	}
	all, _ := net.InterfaceAddrs() // without them, --host names the hosts
	for _, one := range all {
		if n, ok := one.(*net.IPNet); ok {
			hosts = append(hosts, net.JoinHostPort(n.IP.String(), port))
		}
	}
	return hosts
}

// shown returns the address that the link has: that of this machine for one that stands for all.
func shown(a *net.TCPAddr) string {
	if a.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(a.Port))
	}
	return a.String()
}
