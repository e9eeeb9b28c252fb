// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
)

// recording is a program of the official binding tester, and what an official
// binding logged when it executed the program on FoundationDB. See
// testdata/record.py.
type recording struct {
	before, after []kv.KeyValue
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch kind, rest, _ := strings.Cut(lines.Text(), " "); kind {
		case "#":
			t.Log(rest)
		case "before":
			r.before = append(r.before, readPair(t, rest))
		case "after":
			r.after = append(r.after, readPair(t, rest))
		default:
			t.Fatalf("a line begins with %q", kind)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

func readPair(t *testing.T, line string) kv.KeyValue {
	t.Helper()
	key, value, _ := strings.Cut(line, " ")
	return kv.KeyValue{Key: unhex(t, key), Value: unhex(t, value)}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openMemory(t *testing.T) kv.Database {
	t.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, db)
	return db
}

var recordings = flag.String("recordings", "testdata/*.gz", "the recordings that TestRecordedPrograms executes")

// TestRecordedPrograms executes programs of the official binding tester here
// and compares what they log, pair by pair, with what an official binding logged
// on FoundationDB.
func TestRecordedPrograms(t *testing.T) {
	files, err := filepath.Glob(*recordings)
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gz")
		for _, engine := range engines {
			t.Run(name+"/"+engine.name, func(t *testing.T) {
				t.Parallel()
				r := readRecording(t, file)
				db := engine.with(t, r)
				execute(t, db)
				r.check(t, db)
			})
		}
	}
}

// engines are those of this process, with a program in them: in memory, where
// all is new, and on disk, opened again, where the program itself is not.
var engines = []struct {
	name string
	with func(*testing.T, recording) kv.Database
}{
	{"memory", func(t *testing.T, r recording) kv.Database {
		db := openMemory(t)
		r.load(t, db)
		return db
	}},
	{"disk", func(t *testing.T, r recording) kv.Database {
		dir := t.TempDir()
		db := openDir(t, dir)
		r.load(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = openDir(t, dir)
		closeAtEnd(t, db)
		return db
	}},
}

func openDir(t *testing.T, dir string) kv.Database {
	t.Helper()
	db, err := embedded.Open(dir, embedded.Options{NoSync: true, CacheSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeAtEnd(t *testing.T, db kv.Database) {
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestRecordedProgramsWithAnError changes one logged pair of a recording: the
// comparison must find it.
func TestRecordedProgramsWithAnError(t *testing.T) {
	r := readRecording(t, "testdata/directory-1.gz")
	db := openMemory(t)
	r.load(t, db)
	execute(t, db)
	r.after[len(r.after)/2].Value = []byte("another value")
	if faults := r.compare(t, db); len(faults) != 1 {
		t.Errorf("found %q, expected was one fault", faults)
	}
	r.after = r.after[1:]
	if faults := r.compare(t, db); len(faults) != 2 {
		t.Errorf("found %q, expected were two faults", faults)
	}
}

// load stores what the database held before the program ran.
func (r recording) load(t *testing.T, db kv.Database) {
	t.Helper()
	for rest := r.before; len(rest) > 0; {
		n := min(len(rest), 1000)
		if err := setAll(context.Background(), db, rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
}

func execute(t *testing.T, db kv.Database) {
	t.Helper()
	if err := Run(context.Background(), db, []byte("test_spec")); err != nil {
		t.Fatal(err)
	}
}

func (r recording) check(t *testing.T, db kv.Database) {
	t.Helper()
	faults := r.compare(t, db)
	for i, fault := range faults {
		if i == 10 {
			t.Fatalf("and %d more", len(faults)-i)
		}
		t.Error(fault)
	}
}

// compared is where programs log. The official tester compares the same; what
// depends on versions is elsewhere.
var compared = []string{"workspace", "stack", "directory_log"}

// compare returns the differences between the pairs that were logged and those
// that should be.
func (r recording) compare(t *testing.T, db kv.Database) (faults []string) {
	t.Helper()
	want := map[string][]byte{}
	for _, pair := range r.after {
		want[string(pair.Key)] = pair.Value
	}
	for _, part := range compared {
		begin, end, err := tuple.Tuple{"tester_output", part}.Range()
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range readAll(t, db, kv.KeyRange{Begin: begin, End: end}) {
			value, ok := want[string(pair.Key)]
			delete(want, string(pair.Key))
			switch {
			case !ok:
				faults = append(faults, tuple.Describe(pair.Key)+" should not be there")
			case !bytes.Equal(value, pair.Value):
				faults = append(faults, tuple.Describe(pair.Key)+" is "+tuple.Describe(pair.Value)+", should be "+tuple.Describe(value))
			}
		}
	}
	for key := range want {
		faults = append(faults, tuple.Describe([]byte(key))+" is missing")
	}
	return faults
}

func readAll(t *testing.T, db kv.Database, r kv.KeyRange) []kv.KeyValue {
	t.Helper()
	ctx := context.Background()
	pairs, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}
