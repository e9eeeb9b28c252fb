// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNames checks that comments and pages name nothing that the code does not have.
func TestNames(t *testing.T) {
	names, err := LoadNames(root, strings.Fields(strings.Join(foreign, " "))...)
	if err != nil {
		t.Fatal(err)
	}
	faults := names.CheckComments()
	for _, page := range readPages(t) {
		faults = append(faults, names.CheckPage(page)...)
	}
	slices.Sort(faults)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// foreign are names that comments and pages have from elsewhere.
var foreign = []string{
	"GitHub GitLab InnoDB JavaScript KiB MiB NaNs OpenTelemetry PgBouncer ZooKeeper gRPC macOS BurntSushi",
	"ChaCha8 DateTimeFormatter ListenAndServe MurmurHash3 SplitMix64 SyncWrites TrackId",
	"otel.GetMeterProvider otel.GetTracerProvider sdktrace.SpanExporter ContextTimeoutEnabled",
	// FoundationDB and its Record Layer
	"CommitTransactionRef DatabaseContext GetKeyReq GetRangeLimits GetRangeReq HighContentionAllocator NativeAPI",
	"ReadYourWrites ReadYourWritesTransaction StorageMetrics WriteMap addConflictRange coalesceOver coalesceUnder countUncached",
	"getBackoff getExactRange getKnownKeyRange getRangeValue getRangeValueBack keyAfter makeSelfConflicting resolveKeySelectorFromCache",
	"skipUncached triggerWatches updateConflictMap watchMap IndexingThrottle OnlineIndexer RangeSet RankedSet",
	// specifications, and suites of other projects
	"AcquireResponse ActivationExecutor ActivationStorage HttpLeaseProvider MemoryLeaseProvider NotReady PlacementLock RaftTimer",
	"GrainDirectoryTests IdentityStorageTests",
	// code of a reader
	"ByABC ByABThenC ByAThenBC ByNumberRow ByRate MarshalX MinAmountByStatus OrderByStatusCountryGroup OrderView OrderedByABC",
	"OrderedByCreatedAtWherePaid OrderedByCreatedAtWhereStatus SumAmount TestDeposits UnmarshalX ErrOther ErrX attemptsSeen closeTwice fsGroup numStatuses",
	"file.Truncate node.Campaign node.SendHeartbeats srv.ListenAndServeTLS errOutside headerSchema openMyStore openReference",
	"openWithDefaults prefixOfTheDirectory schemaOfTheHeader sendInvoices intM intN uintN uXXXX ewG18 OgB0XY30n3U PkiL_g23Gw aH",
	// subtests, and parts of names
	"FirstReadBehindClears PlainClock PlainShortened RenewCut RenewRefused StoreSerializable",
}

// TestUnknownNames checks that unknown names are found, and where.
func TestUnknownNames(t *testing.T) {
	const code = "package engine\n\n// Code is a code.\ntype Code int\n\n// Set and Unset.\nconst (\n\tCodeTooLarge Code = 1\n\ttooFew = 2\n)\n\n" +
		"// Options are options.\ntype Options struct{ CacheSize int; other }\n\ntype other struct{ Inner string }\n\nfunc (Code) Text() string { return \"deepBlue\" }\n"
	for _, c := range []struct{ name, comment, page, unknown string }{
		{"a constant", "CodeTooLarge, [CodeTooLarge], engine.CodeTooLarge, [Code.Text], [engine.Code.Text]", "`engine.CodeTooLarge`, `engine.Code`", ""},
		{"a constant that is not there", "It fails with CodeTooLong.", "", "CodeTooLong"},
		{"one of a page", "", "It fails with `CodeTooLong`.", "CodeTooLong"},
		{"… with its package", "", "`engine.Codes` and `engine.CodeTooLarge`", "engine.Codes"},
		{"prose of a page", "", "CodeTooLong", ""},
		{"code of a page", "", "```go\nCodeTooLong\n```", ""},
		{"a link", "See [Text].", "", "[Text]"},
		{"a link to a member", "See [Options.CacheSize], [Options.Inner], [*Options].", "", ""},
		{"a link to a member that is not there", "See [Code.Words].", "", "[Code.Words]"},
		{"an index", "It is all[Text], or Map[Text]int.", "", ""},
		{"a variable's method", "db.Text() and engine.Text()", "`db.Text()`", ""},
		{"a variable's method that is not there", "db.TextOf()", "", "db.TextOf"},
		{"an unexported constant", "tooFew; deepBlue is JSON", "`tooFew`", ""},
		{"an unexported one that is not there", "tooMany", "", "tooMany"},
		{"several names", "CodeTooL… and Code…", "`CodeTooL…`", ""},
		{"a name from elsewhere", "GitHub, http.Handler", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := "package a\n\nimport _ \"net/http\"\n\n// " + c.comment + "\nvar v int\n"
			if strings.Contains(c.comment, "[") {
				file = strings.Replace(code, "// Set and Unset.", "// "+c.comment, 1)
			}
			for path, text := range map[string]string{"engine.go": code, "a/a.go": file, "testdata/b.go": "package b\n\nconst CodeTooLong = 1\n"} {
				write(t, filepath.Join(dir, path), text)
			}
			names, err := LoadNames(dir, "GitHub")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(append(names.CheckComments(), names.CheckPage(Parse("b.md", c.page))...), "\n")
			if c.unknown == "" && got != "" || !strings.HasSuffix(got, ": the code has no "+c.unknown) && c.unknown != "" {
				t.Errorf("faults: %q, want %q", got, c.unknown)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
