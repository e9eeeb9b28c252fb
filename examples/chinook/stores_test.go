// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens"
)

// realFile is the name of the file of the Chinook data set, which is not part
// of the repository.
const realFile = "chinook.json"

// eachStore runs a test with the file of the store that the tests make, and
// with that of the Chinook data set where the machine has it.
func eachStore(t *testing.T, test func(t *testing.T, file string)) {
	t.Helper()
	t.Run("made", func(t *testing.T) { test(t, writeStore(t, madeStore())) })
	if file, found := goldens.Dataset(t, realFile); found {
		t.Run("chinook", func(t *testing.T) { test(t, file) })
	}
}

// realStore returns the file of the Chinook data set.
func realStore(t *testing.T) string {
	t.Helper()
	file, found := goldens.Dataset(t, realFile)
	if !found {
		t.Skipf("the data set %s is not here: set %s to its folder to check what is known of it", realFile, goldens.DatasetsVariable)
	}
	return file
}

func mustRead(t *testing.T, file string) *dataset {
	t.Helper()
	data, err := readDataset(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// writeStore writes a data set as the Chinook file has it, where a number is a
// "TrackId", and returns the path.
func writeStore(t *testing.T, data *dataset) string {
	t.Helper()
	b, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "made.json")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(b), `ID":`, `Id":`)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// MarshalJSON writes null for a missing text.
func (t text) MarshalJSON() ([]byte, error) { return json.Marshal(t.value()) }

// MarshalJSON writes a time without its zone.
func (d date) MarshalJSON() ([]byte, error) { return []byte(d.Format(`"2006-01-02T15:04:05"`)), nil }

// MarshalJSON writes a number like 0.99.
func (d dollars) MarshalJSON() ([]byte, error) { return []byte(Cents(d).String()), nil }

func TestReadMadeStore(t *testing.T) {
	if diff := cmp.Diff(madeStore(), mustRead(t, writeStore(t, madeStore()))); diff != "" {
		t.Errorf("what is read (-made +read):\n%s", diff)
	}
}
