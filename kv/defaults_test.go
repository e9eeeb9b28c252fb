// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

func TestTransactionDefaultsAreValidated(t *testing.T) {
	for _, right := range []kv.TransactionDefaults{
		{},
		{Timeout: time.Millisecond, RetryLimit: 1, MaxRetryDelay: time.Hour, SizeLimit: 32, ReportConflictingKeys: true},
		{SizeLimit: kv.MaxTransactionSize},
	} {
		if err := right.Validate(); err != nil {
			t.Errorf("%+v: %v", right, err)
		}
	}
	wrong := kv.TransactionDefaults{Timeout: time.Microsecond, RetryLimit: -1, MaxRetryDelay: -time.Second, SizeLimit: kv.MaxTransactionSize + 1}
	text := fmt.Sprint(wrong.Validate())
	for _, field := range []string{"Timeout", "RetryLimit", "MaxRetryDelay", "SizeLimit"} {
		if !strings.Contains(text, field) {
			t.Errorf("Validate does not speak of %s: %s", field, text)
		}
	}
}

func TestConflictErrorTellsKeys(t *testing.T) {
	var lost []kv.KeyRange
	for _, key := range []string{"a", "b", "c", "d"} {
		lost = append(lost, kv.KeyRange{Begin: []byte(key), End: []byte(key + "\x00")})
	}
	lost[1].End = []byte("bz")
	err := fmt.Errorf("saving: %w", kv.NewConflictError(lost))
	const want = `key "a", keys from "b" to "bz", key "c" and 1 more`
	if !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want …%s", err, want)
	}
	if got := kv.ConflictsOf(err); len(got) != len(lost) || !kv.IsConflict(err) {
		t.Errorf("ConflictsOf = %v", got)
	}
	if got := kv.ConflictsOf(errors.New("other")); got != nil {
		t.Errorf("ConflictsOf of another error = %v", got)
	}
}
