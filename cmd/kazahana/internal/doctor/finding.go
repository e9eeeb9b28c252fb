// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/cluster"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/tuple"
)

// Finding is a place that is not as it should be.
type Finding struct {
	Code     string
	Severity Severity
	Path     []string // of the directory; of the nearest one for keys that none owns
	Type     string   // of the records; empty if it is about none
	Index    string   // the name in keys; empty if it is about none
	ID       string   // of the record, as a tuple; empty if it is about none
	Key      []byte   // in the database; nil if it is about no key
	Place    string   // the key after the directory's prefix, as a tuple
	Reason   string
	Remedy   string
	Places   int // how many there are, if the remedy is for a whole store: ID, Key and Reason are of the first; otherwise 1
}

// String describes the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", f.Severity, f.Code)
	if len(f.Path) > 0 {
		fmt.Fprintf(&b, "%s: ", strings.Join(f.Path, "/"))
	}
	if f.Index != "" {
		fmt.Fprintf(&b, "index %s: ", f.Index)
	}
	if f.ID != "" {
		fmt.Fprintf(&b, "%s %s: ", f.Type, f.ID)
	}
	b.WriteString(f.Reason)
	if f.Places > 1 {
		fmt.Fprintf(&b, " (the first of %d)", f.Places)
	}
	if f.Place != "" {
		fmt.Fprintf(&b, " [%s]", f.Place)
	}
	return b.String()
}

// newFinding returns a finding of a code about a key in a directory with that prefix.
func newFinding(code string, path []string, prefix, key []byte, format string, args ...any) Finding {
	code = codeFor(code, args)
	c, known := codes[code]
	if !known {
		panic("doctor: there is no code " + code)
	}
	f := Finding{Code: code, Severity: c.Severity, Remedy: c.Remedy, Path: path, Reason: fmt.Sprintf(format, args...), Places: 1}
	if key != nil {
		f.Key = append([]byte{}, key...)
		f.Place = tuple.Describe(f.Key[min(len(prefix), len(key)):])
	}
	return f
}

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	Damage  Severity = "damage"  // bytes are not as the layout says
	Warning Severity = "warning" // something is left over, or will go wrong
	Notice  Severity = "notice"  // worth knowing
)

// Code names a kind of finding. Codes never change.
type Code struct {
	Name     string
	Severity Severity
	Meaning  string
	Remedy   string
}

// Codes returns all codes in the order of their names.
func Codes() []Code {
	var all []Code
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		c := codes[name]
		c.Name = name
		all = append(all, c)
	}
	return all
}

const (
	restore      = "restore the directory from a backup"
	verifyRepair = "`kazahana index repair PATH` mends it; it changes no record"
	rebuild      = "`kazahana index build PATH INDEX` builds it anew; in a program: Indexes().Rebuild"
	removeBlobs  = "none, if a program is uploading it, or about to attach it; otherwise in a program: persistable.BlobsOf(store).RemoveUploads"
	nextSave     = "nothing: the next Save writes the new name"
	saveAgain    = "restore the record from a backup, or write it again"
	clearKey     = "`kazahana kv clear 0xKEY` removes the key, once it is certain that no program needs it"
	clearSystem  = "`kazahana kv clear 0xKEY --system` removes the key, once it is certain that no program needs it"
	clearOthers  = "none, if a program keeps keys there without a directory; otherwise `kazahana kv range --from 0xKEY` shows them, and `kazahana kv clear 0xKEY --system` removes the first"
	quarantine   = "stop the programs of the service; restore the directory from a backup; begin a quarantine: `kazahana lease quarantine --service SERVICE`"
	whenSlow     = "examine a restored backup, which no program changes, or the rest with `kazahana doctor --path PATH`"
)

// wholeStore has the remedies that are for all records of a store at once. Findings with one of them are
// one finding for each store and index.
var wholeStore = map[string]bool{verifyRepair: true, rebuild: true, nextSave: true, removeBlobs: true}

// Newer is the code of values that a newer version of the library wrote.
const Newer = "data/newer"

// NotExamined is the code of keys that could not be examined.
const NotExamined = "directory/not-examined"

// codes has what is the same for all findings of a code, by its name, which [Codes] fills in.
var codes = map[string]Code{
	"directory/version":          {"", Damage, "the format of the directory layer is missing, damaged, or of a newer version", "of a newer version: update this program; otherwise write the 12 bytes of version 1.0.0 back, in a program: directory.Metadata.VersionKey"},
	"directory/bad-metadata":     {"", Damage, "a key among those of the directory layer that the layer does not write", clearSystem},
	"directory/bad-link":         {"", Damage, "the name of a directory leads to no prefix: the value was lost", "write the prefix of the directory back, from a backup; without the key the directory has no name, so do not clear it"},
	"directory/bad-allocation":   {"", Damage, "a value of the allocator of prefixes is damaged", "write the value back, from a backup; do not clear it while programs create directories"},
	"directory/missing-node":     {"", Damage, "a name leads to a directory that does not exist, and nothing is stored there", "`kazahana kv clear 0xKEY --system` removes the link"},
	"directory/missing-layer":    {"", Damage, "a directory with keys has lost the key of its layer: programs do not find it", "write the key that the reason names back, in a program or from a backup: its value is the name of the layer, mostly empty; do not remove the directory, which clears what it holds"},
	"directory/unlinked-node":    {"", Damage, "a directory that no name leads to: its parent has lost it", "write the link back, in a program or from a backup: the key (0xfe, PARENT, 0, NAME), or the same in the metadata of the partition, with the prefix that the reason names as its value; do not clear the key, without which nothing knows the directory"},
	"directory/shared-prefix":    {"", Damage, "two names lead to one directory: removing one removes the keys of both", "`kazahana kv clear 0xKEY --system` removes this one of the two links; removing the directory clears the keys of both"},
	"directory/nested-prefix":    {"", Damage, "the prefix of a directory lies in that of another one: their keys may be the same", "export both directories, and import them into new ones"},
	"directory/allocator":        {"", Damage, "the allocator may give out a prefix that a directory has: creating directories fails now and then", "create further directories until it has gone on: a creation that fails changes nothing"},
	"directory/orphan-keys":      {"", Damage, "keys in a partition that no directory owns", clearOthers},
	"directory/keys-outside":     {"", Warning, "keys outside of all directories of the root: those of a program or layer without directories, or of a lost directory", clearOthers},
	"directory/unknown-contents": {"", Notice, "keys of no layout that the doctor knows: those of a program", "none"},
	Newer:                        {"", Warning, "a newer version of Kazahana wrote the value: it was not examined", "examine the database with the version that the reason names"},
	NotExamined:                  {"", Warning, "keys that cannot be read within the lifetime of a version: they were not examined", whenSlow},
	"store/bad-header":           {"", Damage, "the header of a store is damaged", "restore it from the store's history, or from a backup"},
	"store/bad-history":          {"", Damage, "a former header of a store is damaged", clearKey},
	"store/missing-header":       {"", Damage, "records without a header: programs take the store for an empty one", "restore the header from a backup before a program writes there"},
	"store/empty":                {"", Notice, "a header without records", "none; `kazahana dir rm PATH`, if the directory has no other type, and no program uses this one"},
	"store/bad-value":            {"", Damage, "a value that the store keeps about itself is damaged", restore},
	"store/stray-key":            {"", Damage, "a key that no store writes, in a directory of stores", clearKey},
	"store/wrong-directory":      {"", Warning, "the path is not that of the type's schema: the directory was moved by hand", "in a program: directory.Layer.Move back to the path of the type"},
	"store/unattached-blob":      {"", Notice, "the content of a blob that is not attached to a record: it is being uploaded, or was left over", removeBlobs},
	"record/missing-blob":        {"", Damage, "the content to which a record refers is missing or incomplete, or belongs to another record", "restore the directory from a backup; or save the record without the content"},
	"record/bad-header":          {"", Damage, "the header of a record is damaged", saveAgain},
	"record/missing-chunk":       {"", Damage, "a chunk of a long record is missing", saveAgain},
	"record/torn-chunk":          {"", Damage, "a chunk of a long record is shorter or longer than it was written", saveAgain},
	"record/surplus-chunk":       {"", Damage, "a chunk that its record does not count", "`kazahana kv clear 0xKEY` removes the chunk"},
	"record/missing-head":        {"", Damage, "a long record has lost its first value: only the chunks after it are there", saveAgain},
	"record/bad-key":             {"", Damage, "a key among records that no record has", clearKey},
	"record/undecodable":         {"", Damage, "the bytes of a record do not fit the schema", saveAgain},
	"record/wrong-id":            {"", Damage, "a record says another id than its key", saveAgain},
	"record/wrong-shard":         {"", Damage, "a record lies in another shard than that of its id, where it is not found", saveAgain},
	"record/other-directory":     {"", Notice, "the bytes of a record name another directory than its own, as after a tenant was copied, moved or imported under another name; stores go by the path", nextSave},
	"index/orphan-entry":         {"", Damage, "an entry that its record does not have, or that has no record", verifyRepair},
	"index/missing-entry":        {"", Damage, "a record without its entry: queries do not find it", verifyRepair},
	"index/wrong-value":          {"", Damage, "an entry with an old copy of its record", verifyRepair},
	"index/wrong-owner":          {"", Damage, "the entry of a unique index names another record than the one that has the values", verifyRepair},
	"index/bad-entry":            {"", Damage, "an entry that cannot be read", verifyRepair},
	"index/wrong-count":          {"", Damage, "a count is not the number of its records", verifyRepair},
	"index/wrong-sum":            {"", Damage, "a sum is not that of its records", verifyRepair},
	"index/wrong-rank":           {"", Damage, "the counts of a rank index contradict its entries", rebuild},
	"index/wrong-version":        {"", Damage, "a record without its version, or a version without its entry: feeds skip or repeat it", rebuild},
	"index/unknown-entries":      {"", Damage, "entries of an index that no header names", "`kazahana kv clear --prefix 0xKEY` removes them: no program maintains or reads them"},
	"index/bad-layout":           {"", Damage, "the layout of an index does not fit the schema", "`kazahana index drop PATH INDEX`, then build it with the newest program"},
	"index/needs-code":           {"", Notice, "only the Go code of the type can make the entries of the index: not compared", "call Indexes().Verify in the program"},
	"index/not-compared":         {"", Notice, "counts or sums that were not compared: their records are damaged, or too many to be read at one version while programs write", "`kazahana index verify PATH --recount` compares them, if all records can be read"},
	"index/disabled":             {"", Notice, "an index that is not built: no query uses it", "`kazahana index build PATH`"},
	"index/building":             {"", Notice, "an index that is being built; the build may have been interrupted", "`kazahana index build PATH` goes on with it"},
	"index/stale-build":          {"", Warning, "a work list of a build that no worker touches", "`kazahana index build PATH` goes on with it"},
	"index/leftover-recount":     {"", Warning, "a recount of a verification that runs, or was interrupted: each write maintains it", "`kazahana index verify PATH --recount` goes on with it, and removes it"},
	"index/bad-violation":        {"", Damage, "what a build has noted of records with the same values of a unique index is damaged: builds fail", "`kazahana kv clear 0xKEY` removes the note, and `kazahana index build PATH INDEX` makes it again"},
	"index/violation":            {"", Warning, "records with the same values of a unique index: it cannot be completed", "change or delete one of the records, then `kazahana index build PATH`"},
	"tenant/bad-settings":        {"", Damage, "what is known of a tenant is damaged", "`kazahana kv clear 0xKEY --system` removes lock and quota; set them again"},
	"tenant/wrong-usage":         {"", Damage, "the usage of a tenant with a quota is not that of its records", "in a program: tenants.Set.SetQuota without a quota, then with it: that counts anew"},
	"tenant/locked":              {"", Notice, "a locked tenant: programs cannot write", "`kazahana tenant unlock PATH`, if what locked it has ended"},
	"tenant/counting":            {"", Warning, "the records of a tenant with a quota are not all counted", "in a program: tenants.Set.SetQuota once more goes on with counting"},
	"tenant/interrupted":         {"", Warning, "a tenant that arrives: its copy or import runs, or was interrupted", "none, if a program is at it; otherwise repeat the copy or import, or `kazahana tenant abandon TENANT` with the path that the reason names"},
	"tenant/removed":             {"", Warning, "a removed tenant: its keys are being cleared, or its removal was interrupted", "none, if a program is at it; otherwise in a program: tenants.Set.Sweep clears it"},
	"lease/bad-record":           {"", Damage, "a key or value of the leases of machine ids is damaged: the service grants nothing there", quarantine},
	"lease/bad-place":            {"", Damage, "a lease with positions outside those of its service", "`kazahana kv clear 0xKEY --system` removes it, when its holder has ended"},
	"lease/overlap":              {"", Damage, "two leases have the same positions: two processes may make the same ids", quarantine},
	"lease/gap":                  {"", Damage, "positions that are in no block: they are never granted", restore},
	"lease/frontier":             {"", Damage, "a lease beyond the frontier: its positions may be granted twice", quarantine},
	"lease/queue":                {"", Damage, "a block without its entry in the queue: its positions are never granted again", restore},
	"lease/stray-entry":          {"", Damage, "an entry of the queue without its block, or of another time than its block", "`kazahana kv clear 0xKEY --system` removes the entry, which each search passes over"},
	"lease/request":              {"", Damage, "a request that is never forgotten", "`kazahana kv clear 0xKEY --system` removes it, when its leases have ended"},
	"lease/charge":               {"", Damage, "a lease that its account does not count", "none is needed: it ends with the lease"},
	"lease/ending":               {"", Notice, "leases that end within a minute, unless they are renewed", "none, if the programs run"},
	"lease/unsettled":            {"", Warning, "a service that is being made or removed", "repeat the command that was interrupted"},
	"name/bad-state":             {"", Damage, "the state of a named lease or an election is damaged", "restore the directory from a backup, so that its epochs go on"},
	"name/missing-fence":         {"", Damage, "a named lease that counts renewals, and has no epoch: its fence is lost", "restore the directory from a backup, so that its epochs go on"},
	"name/missing-renewal":       {"", Damage, "a named lease without its counter of renewals: others see no change of it", "acquire the lease once: that counts again"},
	"name/bad-standby":           {"", Damage, "the registration of a standby is damaged", clearSystem},
	"member/bad-cluster-id":      {"", Damage, "the id of a cluster of members is damaged", "`kazahana placement forget-members` gives the cluster a new one; its members join again"},
	"member/bad-row":             {"", Damage, "the row of a member is damaged", "`kazahana kv clear 0xKEY --system` removes it; the member joins again when it is restarted"},
	"member/bad-version":         {"", Damage, "the version of the topology of members is damaged", "restore the directory from a backup, so that its versions go on"},
	"member/wrong-incarnation":   {"", Damage, "the row of a member is not of the lease that is in force", "restart the member"},
	"placement/bad-row":          {"", Damage, "the owner of a virtual actor is damaged", "restore the directory from a backup, so that its epochs go on"},
	"placement/bad-entry":        {"", Damage, "the entry of a virtual actor is damaged, or a chunk of it is missing", "`kazahana kv clear --prefix 0xKEY --system` removes it: the next activation begins without its snapshot"},
	"placement/missing-row":      {"", Damage, "an entry of a virtual actor without its owner's row: its fence is lost", "restore the directory from a backup, so that its epochs go on"},
	"idservice/bad-document":     {"", Damage, "a document or sequence of the ID service is damaged", restore},
	"idservice/missing-chunk":    {"", Damage, "a chunk of a document of the ID service is missing, torn or surplus", restore},
	"idservice/missing-expiry":   {"", Damage, "a document that expires, and is not in the index of expiry: it is never removed", "write the document again"},
	"idservice/stray-expiry":     {"", Damage, "an entry of the index of expiry without its document", clearSystem},
	"system/bad-page-token-key":  {"", Damage, "the key that authenticates page tokens does not have 32 bytes", "`kazahana kv clear 0xKEY --system` removes it: the next program makes another one, and page tokens of before are void"},
	"system/stray-key":           {"", Damage, "a key in a directory of this library that it does not write", clearSystem},
	cluster.Unavailable:          {"", Warning, "the cluster takes no transactions", "start the processes that do not run; `fdbcli --exec 'status details'` names what is missing"},
	cluster.MissingData:          {"", Damage, "no process that runs has a copy of some data: reads of it wait", "start the processes that had it, with their disks; if the disks are lost, restore a backup to another cluster"},
	cluster.FewCopies:            {"", Warning, "some data has fewer copies than the redundancy mode says", "none while the cluster makes copies: examine it again; if that lasts, start the processes that are missing, or add some"},
	cluster.SingleCopy:           {"", Warning, "the cluster keeps one copy of all data", "add machines until there are three, then `fdbcli --exec 'configure double'`; until then, keep a backup"},
	cluster.NoTolerance:          {"", Warning, "the failure of one more zone loses data, or stops the cluster", "start the processes that do not run, or add machines: double redundancy needs three, triple five"},
	cluster.Coordinators:         {"", Warning, "coordinators cannot be reached: without most of them the cluster stops", "start them or, if their machines are lost, `fdbcli --exec 'coordinators auto'`"},
	cluster.LittleSpace:          {"", Warning, "a disk, or the store of a process, is nearly full: at 5 % the cluster takes no more writes", "add processes with disks of their own, or remove data; for the engine memory, raise storage-memory"},
	cluster.Lagging:              {"", Warning, "a process applies commits, or writes them to its disk, much later than they are made: the cluster slows down all writes", "look at its machine: is the disk or the processor busy? if most writes go to one range of keys, spread them: docs/operations.md, Hot spots"},
	cluster.Warned:               {"", Warning, "a message of the cluster or of a process", "what the message says; the trace log of the process that it names has more"},
	cluster.Remarked:             {"", Notice, "a message of the cluster that tells of no danger to data", "none, unless it lasts"},
	cluster.MovingData:           {"", Notice, "the cluster moves data between processes", "none"},
	cluster.Unknown:              {"", Notice, "it is not known whether all data has its copies, as in the first minutes after a process has ended or come", "examine the cluster again in some minutes"},
	"clock/ahead":                {"", Warning, "leases were granted at a time that is ahead of this machine's clock: this clock is slow, or the clock of a server is fast", "set the clocks of the machines right (NTP)"},
}

// fault is what is wrong with a record.
type fault struct {
	code string
	key  []byte
	text string
}

func newFault(code string, key []byte, format string, args ...any) *fault {
	return &fault{codeFor(code, args), key, fmt.Sprintf(format, args...)}
}

// codeFor returns the code of a finding with those arguments: a value that a newer version
// wrote is not damage, whatever it is about.
func codeFor(code string, args []any) string {
	for _, arg := range args {
		if err, is := arg.(error); is && errors.Is(err, newer.Err) {
			return Newer
		}
	}
	return code
}

// slowError says that reading a single unit takes longer than a version can be read. It does
// not unwrap: reading the same once more would not help.
type slowError struct{ err error }

// Error implements error.
func (e *slowError) Error() string { return e.err.Error() }

// isTooSlow reports whether a unit could not be read within the lifetime of a version.
func isTooSlow(err error) bool {
	var slow *slowError
	return errors.As(err, &slow)
}
