// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// Anomaly is something that transactions which ran one after another could not
// bring about.
type Anomaly string

// The anomalies that have a name, as Berenson and others and Adya define them.
const (
	// DirtyWrite mixes the writes of two transactions (P0, G0).
	DirtyWrite Anomaly = "dirty write"
	// DirtyRead sees writes of a transaction that has not committed, has failed,
	// or goes on to write something else (P1, G1a, G1b).
	DirtyRead Anomaly = "dirty read"
	// LostUpdate writes over what another has written since it was read (P4).
	LostUpdate Anomaly = "lost update"
	// ReadSkew sees one part of a commit without another (A5A, G-single).
	ReadSkew Anomaly = "read skew"
	// WriteSkew lets two transactions each change what the other's decision
	// rested on (A5B, G2-item).
	WriteSkew Anomaly = "write skew"
	// Phantom misses that a key appears in a range that was read, or vanishes
	// from it (P3, G2).
	Phantom Anomaly = "phantom"
)

// Anomalies are all of them.
var Anomalies = []Anomaly{DirtyWrite, DirtyRead, LostUpdate, ReadSkew, WriteSkew, Phantom}

// CheckAnomaly checks that an engine does not let an anomaly happen: each way
// to it step by step, and by many goroutines at once. [RunConformance] checks all
// anomalies; this is for an engine's tests that bear their names. open is as
// for RunConformance.
func CheckAnomaly(t *testing.T, open func(testing.TB) kv.Database, a Anomaly) {
	t.Helper()
	db, found := open(t), false
	for _, l := range anomalyLaws {
		way, ok := strings.CutPrefix(l.name, string(a)+": ")
		if !ok {
			continue
		}
		found = true
		t.Run(way, func(t *testing.T) { checkLaw(t, l, db, open, lawTimeout) })
	}
	if !found {
		t.Fatalf("kvtest: there is no anomaly %q; see Anomalies", a)
	}
}
