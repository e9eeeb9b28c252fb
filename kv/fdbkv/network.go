// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
)

// network is what the process has once.
var network struct {
	mu       sync.Mutex
	started  bool
	settings []setting
}

// setting is a network option to be set.
type setting struct {
	name  string
	value string
	set   func() error
}

// startNetwork selects the API version, and starts the network with the options. If it
// runs already, they must be the same.
//
// The binding runs the network, so that a program can use both. It starts it when it
// opens a database: one of the address, which is closed again. Unlike one of a cluster
// file, it is in no map of the binding, which only one goroutine may use. Each call
// opens one, since a program can have stopped the network.
func startNetwork(n Network, address string) error {
	network.mu.Lock()
	defer network.mu.Unlock()
	if err := selectOptions(n); err != nil {
		return err
	}
	database, err := fdb.OpenWithConnectionString(address)
	if err != nil {
		return fromBinding(err)
	}
	database.Close()
	return nil
}

// selectOptions selects the API version and sets the options. network.mu is held.
func selectOptions(n Network) error {
	settings := n.settings()
	if network.started {
		if differing := differingNames(settings, network.settings); len(settings) > 0 && len(differing) > 0 {
			return &NetworkError{Differing: differing}
		}
		return nil
	}
	if err := fdb.APIVersion(APIVersion); err != nil {
		return fmt.Errorf("fdbkv: selecting API version %d (nothing else in the process may select another): %w", APIVersion, fromBinding(err))
	}
	for _, s := range settings {
		if err := s.set(); err != nil {
			return fmt.Errorf("fdbkv: setting the network option %s: %w", s.name, fromBinding(err))
		}
	}
	network.started, network.settings = true, settings
	return nil
}

// differingNames returns the names of the settings that only one list has, or that have
// another value in it.
func differingNames(a, b []setting) []string {
	var names []string
	for _, lists := range [][2][]setting{{a, b}, {b, a}} {
		for _, s := range lists[0] {
			same := func(o setting) bool { return o.name == s.name && o.value == s.value }
			if !slices.ContainsFunc(lists[1], same) && !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
		}
	}
	return names
}

// settings lists the options that are not zero.
func (n Network) settings() []setting {
	var list []setting
	o := fdb.Options()
	text := func(name, value string, set func(string) error) {
		if value != "" {
			list = append(list, setting{name, value, func() error { return set(value) }})
		}
	}
	raw := func(name string, value []byte, set func([]byte) error) {
		text(name, string(value), func(v string) error { return set([]byte(v)) })
	}
	number := func(name string, value int64, set func(int64) error) {
		if value != 0 {
			list = append(list, setting{name, fmt.Sprint(value), func() error { return set(value) }})
		}
	}
	on := func(name string, value bool, set func() error) {
		if value {
			list = append(list, setting{name, "on", set})
		}
	}
	text("TLS.CertFile", n.TLS.CertFile, o.SetTLSCertPath)
	raw("TLS.CertPEM", n.TLS.CertPEM, o.SetTLSCertBytes)
	text("TLS.Password", n.TLS.Password, o.SetTLSPassword) // before the key that it opens
	text("TLS.KeyFile", n.TLS.KeyFile, o.SetTLSKeyPath)
	raw("TLS.KeyPEM", n.TLS.KeyPEM, o.SetTLSKeyBytes)
	text("TLS.CAFile", n.TLS.CAFile, o.SetTLSCaPath)
	raw("TLS.CAPEM", n.TLS.CAPEM, o.SetTLSCaBytes)
	raw("TLS.VerifyPeers", []byte(n.TLS.VerifyPeers), o.SetTLSVerifyPeers)
	text("Trace.Dir", n.Trace.Dir, o.SetTraceEnable)
	text("Trace.Format", n.Trace.Format, o.SetTraceFormat)
	text("Trace.LogGroup", n.Trace.LogGroup, o.SetTraceLogGroup)
	text("Trace.FileIdentifier", n.Trace.FileIdentifier, o.SetTraceFileIdentifier)
	text("Trace.ClockSource", n.Trace.ClockSource, o.SetTraceClockSource)
	number("Trace.RollSize", n.Trace.RollSize, o.SetTraceRollSize)
	number("Trace.MaxLogsSize", n.Trace.MaxLogsSize, o.SetTraceMaxLogsSize)
	text("ExternalClientDirectory", n.ExternalClientDirectory, o.SetExternalClientDirectory)
	text("ExternalClientLibraries", strings.Join(n.ExternalClientLibraries, "\n"), eachLine(o.SetExternalClientLibrary))
	on("DisableLocalClient", n.DisableLocalClient, o.SetDisableLocalClient)
	on("IgnoreExternalClientFailures", n.IgnoreExternalClientFailures, o.SetIgnoreExternalClientFailures)
	on("FailIncompatibleClient", n.FailIncompatibleClient, o.SetFailIncompatibleClient)
	number("ClientThreads", int64(n.ClientThreads), o.SetClientThreadsPerVersion)
	text("TempDir", n.TempDir, o.SetClientTmpDir)
	text("LocalAddress", n.LocalAddress, o.SetLocalAddress)
	on("DisableStatistics", n.DisableStatistics, o.SetDisableClientStatisticsLogging)
	text("Knobs", strings.Join(n.Knobs, "\n"), eachLine(o.SetKnob))
	return list
}

// eachLine sets an option once for each line.
func eachLine(set func(string) error) func(string) error {
	return func(lines string) error {
		for line := range strings.SplitSeq(lines, "\n") {
			if err := set(line); err != nil {
				return err
			}
		}
		return nil
	}
}
