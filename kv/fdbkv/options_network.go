// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
)

// Network are the options of the client's network, which the process has once.
type Network struct {
	TLS   TLS
	Trace Trace

	// ExternalClientDirectory holds client libraries (libfdb_c) of other versions.
	// With them the process can talk to clusters of those versions, and so stays
	// connected while its cluster is upgraded. They are loaded at the first Open.
	ExternalClientDirectory string
	// ExternalClientLibraries are single such files.
	ExternalClientLibraries []string
	// DisableLocalClient uses external clients only.
	DisableLocalClient bool
	// IgnoreExternalClientFailures starts although an external client cannot be loaded.
	IgnoreExternalClientFailures bool
	// FailIncompatibleClient ends transactions with an error, rather than to wait, if
	// no client speaks the cluster's version.
	FailIncompatibleClient bool
	// ClientThreads is how many network threads each external client has: more than
	// one for a process whose client thread is always busy. 0: one. Several need
	// external clients, since each thread has a copy of a library.
	ClientThreads int
	// TempDir is where such copies are made. "": the system's.
	TempDir string

	// LocalAddress is the address to connect from. "": the system chooses.
	LocalAddress string
	// DisableStatistics keeps the client from sampling transactions into the
	// cluster.
	DisableStatistics bool
	// Knobs are the client's internal parameters, as "name=value". They are for
	// FoundationDB's experts, and change between its versions.
	Knobs []string
}

// Trace says where the client logs. The zero value: it does not.
type Trace struct {
	Dir            string // must exist
	Format         string // "xml" or "json"; "": xml
	LogGroup       string // tells processes apart in gathered logs
	FileIdentifier string // part of the files' names; "": none
	ClockSource    string // "now" (monotonic) or "realtime"; "": now
	RollSize       int64  // bytes of a file; 0: the client's, 10 MiB
	MaxLogsSize    int64  // bytes of all files; 0: the client's, 100 MiB
}

// Validate reports all faults of the options.
func (n Network) Validate() error {
	errs := []error{n.TLS.validate(), n.Trace.validate()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: "+format, args...)) }
	external := n.ExternalClientDirectory != "" || len(n.ExternalClientLibraries) > 0
	if n.ClientThreads < 0 || n.ClientThreads > 1 && !external {
		fault("ClientThreads is %d; several threads need external clients (ExternalClientDirectory or ExternalClientLibraries)", n.ClientThreads)
	}
	if n.DisableLocalClient && !external {
		fault("DisableLocalClient leaves no client; name external ones")
	}
	errs = append(errs, exists("ExternalClientDirectory", n.ExternalClientDirectory, true), exists("TempDir", n.TempDir, true))
	for _, file := range n.ExternalClientLibraries {
		errs = append(errs, exists("ExternalClientLibraries", file, false))
	}
	return errors.Join(errs...)
}

func (t Trace) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: Trace: "+format, args...)) }
	if !slices.Contains([]string{"", "xml", "json"}, t.Format) {
		fault("Format is %q; use xml or json", t.Format)
	}
	if !slices.Contains([]string{"", "now", "realtime"}, t.ClockSource) {
		fault("ClockSource is %q; use now or realtime", t.ClockSource)
	}
	if t.RollSize < 0 || t.MaxLogsSize < 0 {
		fault("RollSize is %d and MaxLogsSize %d; use 0 for the defaults, or numbers of bytes", t.RollSize, t.MaxLogsSize)
	}
	if t.Dir == "" && t != (Trace{}) {
		fault("Dir is empty, so nothing is logged; name a folder")
	}
	errs = append(errs, exists("Trace: Dir", t.Dir, true))
	return errors.Join(errs...)
}

// exists returns an error unless path is empty, or a folder or file as wanted.
func exists(name, path string, folder bool) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("fdbkv: %s: %w", name, err)
	case info.IsDir() != folder && folder:
		return fmt.Errorf("fdbkv: %s: %s is no folder", name, path)
	case info.IsDir() != folder:
		return fmt.Errorf("fdbkv: %s: %s is a folder, not a file", name, path)
	}
	return nil
}

// NetworkError is returned by [OpenWith] for network options that differ from
// those that the process's network was started with.
type NetworkError struct {
	Differing []string // the options' names
}

// Error implements error.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("fdbkv: the client's network of this process runs with other options (%v); "+
		"give them to the first Open, and leave Network zero elsewhere", e.Differing)
}

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (n Network) LogValue() slog.Value {
	type plain Network
	n.TLS = n.TLS.public()
	return slog.AnyValue(plain(n))
}
