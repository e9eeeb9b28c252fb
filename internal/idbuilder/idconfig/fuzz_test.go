// SPDX-License-Identifier: Apache-2.0

package idconfig_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// FuzzParse: for any request, Parse returns a configuration that can be stored and read again,
// or faults of named parameters in UTF-8.
func FuzzParse(f *testing.F) {
	for _, s := range specified {
		f.Add(string(s.kind), s.body)
	}
	f.Add("increment", `{"name": "k", "start": 9, "step": -1, "min": -9, "force": true}`)
	f.Add("snowflake", `{"name": "k", "worker_bits": -1, "sequence_bits": 99, "ts_size": -1}`)
	f.Add("formatted", `{"name": "k", "pattern": "{RAND:3}{SEQ:4}", "sequence_reset": "daily"}`)
	f.Add("increment", `{"key": "k", "x": [[{"a": 1}], 2], "base": 1e99}`)
	f.Add(strings.Repeat("\x94", 41), "{}")
	f.Fuzz(func(t *testing.T, kind, body string) {
		r, err := idconfig.Parse(idconfig.Type(kind), []byte(body), now)
		if err != nil {
			for _, e := range faultsOf(err) {
				if p := (*idconfig.ParamError)(nil); !errors.As(e, &p) || !utf8.ValidString(e.Error()) {
					t.Fatalf("%q: %#v", body, e)
				}
			}
			return
		}
		value, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		c, err := idconfig.Decode(store.Document{Key: r.Key, Type: kind, Value: value})
		if err != nil {
			t.Fatalf("%s is stored as %s: %v", body, value, err)
		}
		if diff := cmp.Diff(&r.Config, c, cmpopts.IgnoreUnexported(format.Format{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: %s", body, diff)
		}
		if err := idconfig.CheckChange(c, &r.Config); err != nil {
			t.Fatalf("%s: repeated: %v", body, err)
		}
	})
}
