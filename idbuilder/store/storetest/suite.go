// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"os/exec"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Suite says how to reach the store under test. A medium is the place of its data: a
// folder, a database, a prefix of keys.
type Suite struct {
	// Open opens the medium called name, as another process would, and closes it
	// when the test ends. A medium that was not opened before is empty. The suite
	// calls Init. Names have small letters and digits only.
	Open func(t *testing.T, name string) store.Store
	// Process returns the command of a process that opens the medium, without
	// Init, and calls [Work] with it and the process's standard output; nil for a
	// store that one process has for itself.
	Process func(t *testing.T, name string) *exec.Cmd
	// LosesAnswers says that the medium loses acknowledgements: when callers race,
	// reservations may skip numbers, and changes may have an unknown outcome.
	LosesAnswers bool
	// SetSchema sets the version of the medium's schema, as a newer program would. nil
	// leaves that test out.
	SetSchema func(t *testing.T, name string, version int)
	// SetReadOnly makes the medium read-only until the function that it returns is called.
	// nil leaves that test out.
	SetReadOnly func(t *testing.T, name string) (undo func())
}

// law is a part of the contract.
type law struct {
	name  string
	check func(*fixture)
}

var laws = []law{
	{"reserve", testReserve},
	{"reserve down", testReserveDown},
	{"reserve at the ends", testReserveEnds},
	{"reserve exactly", testReserveExact},
	{"reserve at random", testReserveRandom},
	{"illegal arguments", testIllegal},
	{"names", testNames},
	{"set sequence", testSetSequence},
	{"set sequence at once", testSetSequenceRace},
	{"delete sequence", testDeleteSequence},
	{"goroutines", testGoroutines},
	{"processes", testProcesses},
	{"killed processes", testKilled},
	{"documents", testDocuments},
	{"document races", testDocumentRaces},
	{"versions of documents", testVersions},
	{"large values", testLarge},
	{"expiry", testExpiry},
	{"keys of documents", testKeys},
	{"list", testList},
	{"list at random", testListRandom},
	{"revision", testRevision},
	{"init", testInit},
	{"no schema", testNoSchema},
	{"newer schema", testNewerSchema},
	{"read-only", testReadOnly},
	{"ping", testPing},
	{"context", testContext},
	{"close", testClose},
}

// Run runs the whole contract.
func Run(t *testing.T, s Suite) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.check(newFixture(t, s, l.name)) })
	}
}
