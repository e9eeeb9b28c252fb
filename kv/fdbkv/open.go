// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
)

// Open opens the cluster that a cluster file names. "" is, as for FoundationDB's
// own tools, the file that the environment's FDB_CLUSTER_FILE names, else
// fdb.cluster in the working directory, else the system's.
//
// Open does not wait for the cluster: transactions do, as long as their contexts
// and timeouts let them. Several databases may be open, of one cluster or of
// several. At most one Options can be given.
func Open(clusterFile string, options ...Options) (*Database, error) {
	o, err := optional.Options("fdbkv", options)
	if err != nil {
		return nil, err
	}
	if clusterFile == "" {
		clusterFile = defaultClusterFile()
	}
	path, err := filepath.Abs(clusterFile)
	if err != nil {
		return nil, fmt.Errorf("fdbkv: the cluster file: %w", err)
	}
	address, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fdbkv: the cluster file: %w", err)
	}
	if err := startNetwork(o.Network, string(address)); err != nil {
		return nil, explainClusterFile(path, err)
	}
	client, code := openDatabase(path)
	if code != 0 {
		return nil, fmt.Errorf("fdbkv: opening the cluster of %s: %w", path, newError(kv.Code(code), "opening a database"))
	}
	db := &Database{client: client, defaults: o.Transactions, load: newLoadOptions(o.Transactions), open: map[*futures]struct{}{}}
	if o.Transactions.MaxStaleness > 0 {
		db.versions.use()
	}
	db.groups.few = fewReaders
	if err := errors.Join(applyOptions(client, o), explainClusterFile(path, checkClusterFile(db))); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// explainClusterFile adds to an error which file the client cannot use.
func explainClusterFile(path string, err error) error {
	if kv.CodeOf(err) == 0 {
		return err
	}
	return fmt.Errorf("fdbkv: the cluster file %s, which is to have one line, description:id@host:port,…: %w", path, err)
}

// checkClusterFile returns the fault of a cluster file, which the client keeps to itself
// until a transaction uses it. The size of a transaction is known without the
// cluster, though with external clients only when one of them has connected:
// that is not waited for.
func checkClusterFile(db *Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	t, err := db.begin(true)
	if err != nil {
		return err
	}
	defer t.Release()
	if _, err = t.GetApproximateSize().Get(ctx); ctx.Err() != nil {
		return nil
	}
	return err
}

// defaultClusterFile resolves the file as the client does.
func defaultClusterFile() string {
	if file := os.Getenv("FDB_CLUSTER_FILE"); file != "" {
		return file
	}
	if _, err := os.Stat("fdb.cluster"); err == nil {
		return "fdb.cluster"
	}
	if runtime.GOOS == "darwin" {
		return "/usr/local/etc/foundationdb/fdb.cluster"
	}
	return "/etc/foundationdb/fdb.cluster"
}

// applyOptions sets the database's options, which have the client's numbers.
func applyOptions(d *cDatabase, o Options) error {
	type option struct {
		name   string
		number int
		value  any // a number, a text, or whether the option is on; the zero value is not set
	}
	t := o.Transactions
	for _, s := range []option{
		{"Timeout", 500, t.Timeout.Milliseconds()},
		{"RetryLimit", 501, int64(t.RetryLimit)},
		{"MaxRetryDelay", 502, t.MaxRetryDelay.Milliseconds()},
		{"SizeLimit", 503, int64(t.SizeLimit)},
		{"ReportConflictingKeys", 702, t.ReportConflictingKeys},
		{"AutomaticIdempotency", 506, o.AutomaticIdempotency},
		{"CausalReadRisky", 504, o.CausalReadRisky},
		{"MaxWatches", 20, int64(o.MaxWatches)},
		{"LocationCacheSize", 10, int64(o.LocationCacheSize)},
		{"MachineID", 21, o.MachineID},
		{"DatacenterID", 22, o.DatacenterID},
	} {
		value, ok := optionBytes(s.value)
		if !ok {
			continue
		}
		if code := setDatabaseOption(d, s.number, value); code != 0 {
			return fmt.Errorf("fdbkv: setting the option %s: %w", s.name, newError(kv.Code(code), "setting a database's option"))
		}
	}
	return nil
}

// optionBytes returns what the client takes for a value, and false for the zero value.
func optionBytes(value any) ([]byte, bool) {
	switch v := value.(type) {
	case int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v)), v != 0
	case string:
		return []byte(v), v != ""
	default:
		return nil, value == true
	}
}

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
	settings := settingsOf(n)
	if network.started {
		if differing := differingNames(settings, network.settings); len(settings) > 0 && len(differing) > 0 {
			return fmt.Errorf("%w (%v); give them to the first Open, and leave Network zero elsewhere", ErrNetwork, differing)
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

// settingsOf lists the options that are not zero.
func settingsOf(n Network) []setting {
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
