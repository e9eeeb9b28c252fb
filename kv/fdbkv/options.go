// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// APIVersion is the version of FoundationDB's client interface that this package
// is written for: the behaviour that package kv describes. A program that uses
// the official binding as well selects the same one.
const APIVersion = 730

// Options adjust a client. The zero value is what [Open] uses.
type Options struct {
	// Network belongs to the whole process: the client's network thread is started
	// once. The first database that is opened decides. Another one may leave this
	// zero, which takes what there is, or say the same; anything else fails with
	// [ErrNetwork].
	Network Network

	// Transactions are the defaults of the database's transactions. The next two
	// are such defaults as well.
	Transactions kv.TransactionOptions

	// AutomaticIdempotency has commits recognized by the cluster, so that a lost
	// acknowledgement is answered by what became of the commit instead of
	// CodeCommitUnknownResult. It costs a little space for each commit. It needs
	// a cluster of 7.3 or later, where FoundationDB calls it experimental.
	AutomaticIdempotency bool
	// CausalReadRisky takes read versions with one round trip less of checks: a
	// read may miss a commit that was acknowledged during a recovery.
	CausalReadRisky bool

	// MaxWatches is how many watches may be outstanding. 0: [kv.MaxWatches].
	MaxWatches int
	// LocationCacheSize is how many places of keys the client remembers. 0: its
	// default, 100,000.
	LocationCacheSize int
	// MachineID and DatacenterID tell where the process runs; the client then
	// prefers servers that are near.
	MachineID    string
	DatacenterID string
}

// Validate reports all faults of the options, those of files that cannot be
// found included.
func (o Options) Validate() error {
	errs := []error{o.Network.Validate()}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: "+format, args...)) }
	if err := o.Transactions.Validate(); err != nil {
		fault("Transactions: %w", err)
	}
	for name, n := range map[string]int{"MaxWatches": o.MaxWatches, "LocationCacheSize": o.LocationCacheSize} {
		if n < 0 || n > math.MaxInt32 {
			fault("%s is %d; use 0 for the default, or at most %d", name, n, math.MaxInt32)
		}
	}
	return errors.Join(errs...)
}

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (o Options) LogValue() slog.Value {
	type plain Options
	o.Network.TLS = o.Network.TLS.public()
	return slog.AnyValue(plain(o))
}

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
	// one for a process with a client thread that is always busy. 0: one. Several need
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
		return fmt.Errorf("fdbkv: %s: %s is not a folder", name, path)
	case info.IsDir() != folder:
		return fmt.Errorf("fdbkv: %s: %s is a folder, not a file", name, path)
	}
	return nil
}

// ErrNetwork is the error of [Open] for network options that differ from those that
// the process's network was started with. The text names them.
var ErrNetwork = errors.New("fdbkv: the client's network of this process runs with other options")

// LogValue implements [slog.LogValuer]: see [TLS.LogValue].
func (n Network) LogValue() slog.Value {
	type plain Network
	n.TLS = n.TLS.public()
	return slog.AnyValue(plain(n))
}

// Format implements [fmt.Formatter]: it prints like any struct, except that the
// private key and its password are left out.
func (t TLS) Format(f fmt.State, verb rune) {
	type tls = TLS
	type TLS tls // without methods; the name is what %#v prints
	fmt.Fprintf(f, fmt.FormatString(f, verb), TLS(t.public()))
}

// LogValue implements [slog.LogValuer]: it is logged without the private key and
// its password.
func (t TLS) LogValue() slog.Value {
	type plain TLS
	return slog.AnyValue(plain(t.public()))
}

// public returns t without secrets.
func (t TLS) public() TLS {
	if t.Password != "" {
		t.Password = "[redacted]"
	}
	t.KeyPEM = nil
	return t
}

// TLS names the certificates of the process. Each is given as a file, which the
// client reads again when it changes, or as bytes. The cluster file says whether
// TLS is used: its addresses end in ":tls".
type TLS struct {
	CertFile string // PEM: the certificate with those that lead to a root
	CertPEM  []byte
	KeyFile  string // PEM: the private key
	KeyPEM   []byte
	CAFile   string // PEM: the roots that peers are checked against; "": those of the system
	CAPEM    []byte
	Password string // of the private key
	// VerifyPeers says which peers are trusted, in FoundationDB's notation such
	// as "Check.Valid=1,S.CN=db.example.org". "": any that the roots vouch for.
	VerifyPeers string
}

func (t TLS) validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("fdbkv: TLS: "+format, args...)) }
	for _, part := range []struct {
		name, file string
		pem        []byte
	}{{"Cert", t.CertFile, t.CertPEM}, {"Key", t.KeyFile, t.KeyPEM}, {"CA", t.CAFile, t.CAPEM}} {
		if part.file != "" && len(part.pem) > 0 {
			fault("%sFile and %sPEM are both given; give one", part.name, part.name)
		}
		errs = append(errs, exists("TLS: "+part.name+"File", part.file, false))
	}
	cert, key := t.CertFile != "" || len(t.CertPEM) > 0, t.KeyFile != "" || len(t.KeyPEM) > 0
	if cert != key {
		fault("a certificate needs its key and a key its certificate; if one file has both, name it twice")
	}
	if t.Password != "" && !key {
		fault("Password is given without a key")
	}
	return errors.Join(errs...)
}
