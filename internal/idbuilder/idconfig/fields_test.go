// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// TestFields compares answers with files that were written by hand: from the fields that
// the specification lists, and from those of the deployed worker's types.
func TestFields(t *testing.T) {
	for name, c := range map[string]struct {
		kind     idconfig.Type
		body     string
		deployed bool
		extra    any
	}{
		"increment": {
			idconfig.TypeIncrement, `{"key": "orders", "name": "Order numbers", "base": 1000}`, false,
			&idconfig.IncrementState{Current: 1523, Exact: true, Reserved: 2000},
		},
		"increment_deployed": {idconfig.TypeIncrement, `{"name": "orders", "start": 100, "step": -5, "max": 100, "key_token_enable": true}`, true, nil},
		"snowflake": {
			idconfig.TypeSnowflake, `{"key": "events", "name": "Events", "base_ts": 1673606841000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`, false,
			&idconfig.SnowflakeState{},
		},
		"snowflake_deployed": {idconfig.TypeSnowflake, `{"name": "events", "worker_bits": 5, "sequence_bits": 5}`, true, nil},
		"formatted":          {idconfig.TypeFormatted, specified[2].body, false, &idconfig.FormattedState{SampleID: "INV202611220001"}},
		"formatted_deployed": {idconfig.TypeFormatted, `{"name": "invoices", "pattern": "INV{YYYY}-{SEQ:4}", "sequence_reset": "yearly"}`, true, nil},
	} {
		r := parse(t, c.kind, c.body)
		r.Created, r.Updated = now, now.Add(1500*time.Millisecond).In(time.FixedZone("", 3600))
		if c.kind == idconfig.TypeFormatted {
			r.Key = "invoices"
			r.Formatted.Earlier = append(r.Formatted.Earlier, r.Formatted.Parts) // is not a field of the answer
		}
		compareJSON(t, name, r.Fields(c.deployed, c.extra))
	}
}

// compareJSON compares numbers by their digits: those above 2^53 too.
func compareJSON(t *testing.T, name string, fields any) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", "fields", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers(t, want), numbers(t, got)); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}

func numbers(t *testing.T, text []byte) (value any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestNameOfTheDeployedDialect: in the deployed dialect the name is the key.
func TestNameOfTheDeployedDialect(t *testing.T) {
	r := parse(t, idconfig.TypeIncrement, `{"key": "orders", "name": "Order numbers", "base": 1}`)
	for deployed, want := range map[bool]string{false: "Order numbers", true: "orders"} {
		text, err := json.Marshal(r.Fields(deployed, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := object(t, string(text))["name"]; got != want {
			t.Errorf("deployed %v: the name is %v", deployed, got)
		}
	}
}
