// SPDX-License-Identifier: Apache-2.0

package mux_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"github.com/kazahana-db/kazahana/rafttimer/mux"
)

func TestOptions(t *testing.T) {
	if err := (mux.Options{}).Validate(); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		options mux.Options
		fields  []string
	}{
		{mux.Options{Shards: -1, Resolution: -1}, []string{"Shards", "Resolution"}},
		{mux.Options{Shards: mux.MaxShards + 1, Resolution: 51 * ms}, []string{"Shards", "Resolution"}},
		{mux.Options{Config: rafttimer.Config{ElectionTimeoutMin: -1, ElectionTimeoutMax: time.Second}, Shards: -1}, []string{"ElectionTimeoutMin", "Shards"}},
	} {
		err := test.options.Validate()
		found := map[string]bool{}
		for _, err := range flatten(err) {
			var fault *rafttimer.ConfigError
			if errors.As(err, &fault) {
				found[fault.Field] = true
			}
		}
		for _, field := range test.fields {
			if !found[field] {
				t.Errorf("no fault of %s: %v", field, err)
			}
		}
		if _, err := mux.New(t.Context(), func(*mux.Group[int], rafttimer.Event) {}, test.options); err == nil {
			t.Errorf("New accepts %+v", test.options)
		}
	}
}

// flatten returns the errors that a joined one holds.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, flatten(err)...)
	}
	return all
}
