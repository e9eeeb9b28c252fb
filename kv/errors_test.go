// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// listedCodes reads the constants of type Code from errors.go, so that a code
// added there cannot be forgotten here.
func listedCodes(t *testing.T) map[string]kv.Code {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Error: func(error) {}} // imports and the names of other files are missing
	pkg, _ := config.Check("kv", fset, []*ast.File{file}, nil)
	codes := map[string]kv.Code{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !strings.HasPrefix(name, "Code") {
			continue
		}
		n, _ := constant.Int64Val(c.Val())
		codes[name] = kv.Code(n)
	}
	if len(codes) < 40 {
		t.Fatalf("found only %d codes in errors.go", len(codes))
	}
	return codes
}

func TestEveryCodeSurvivesWrapping(t *testing.T) {
	for name, code := range listedCodes(t) {
		base := kv.NewError(code, "key %q", "k")
		for how, err := range map[string]error{
			"plain":      base,
			"wrapped":    fmt.Errorf("saving: %w", base),
			"twice":      fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", base)),
			"joined":     errors.Join(errors.New("other"), base),
			"two in one": fmt.Errorf("%w: %w", context.Canceled, base),
		} {
			if got := kv.CodeOf(err); got != code {
				t.Errorf("%s %s: CodeOf = %d, want %d", name, how, got, code)
			}
			if !errors.Is(err, &kv.Error{Code: code}) || errors.Is(err, &kv.Error{Code: -1}) {
				t.Errorf("%s %s: errors.Is does not go by the code", name, how)
			}
			var as *kv.Error
			if !errors.As(err, &as) || as.Detail != `key "k"` {
				t.Errorf("%s %s: errors.As finds %v", name, how, as)
			}
			if kv.IsRetryable(err) != kv.IsRetryable(base) || kv.IsMaybeCommitted(err) != kv.IsMaybeCommitted(base) ||
				kv.IsConflict(err) != kv.IsConflict(base) || kv.IsRetryableNotCommitted(err) != kv.IsRetryableNotCommitted(base) {
				t.Errorf("%s %s: a predicate does not see through the wrapping", name, how)
			}
		}
	}
}

func TestWrappingWithoutTheVerbLosesTheCode(t *testing.T) {
	err := fmt.Errorf("saving: %v", kv.NewError(kv.CodeNotCommitted, ""))
	if kv.CodeOf(err) != 0 || kv.IsRetryable(err) {
		t.Error("an error that was only printed must not look retryable: nobody could rely on it")
	}
}

func TestEveryCodeHasItsOwnDescription(t *testing.T) {
	seen := map[string]string{}
	for name, code := range listedCodes(t) {
		text := code.String()
		if text == kv.Code(1).String() {
			t.Errorf("%s (%d) has no description", name, code)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s share the description %q", name, other, text)
		}
		seen[text] = name
	}
}

func TestPredicates(t *testing.T) {
	type verdict struct{ retryable, maybe, notCommitted, conflict bool }
	special := map[kv.Code]verdict{
		kv.CodeNotCommitted:          {retryable: true, notCommitted: true, conflict: true},
		kv.CodeCommitUnknownResult:   {retryable: true, maybe: true},
		kv.CodeClusterVersionChanged: {maybe: true},
	}
	for _, code := range []kv.Code{1007, 1009, 1037, 1038, 1042, 1051, 1078, 1079, 1213, 1223} {
		special[code] = verdict{retryable: true, notCommitted: true}
	}
	for code := kv.Code(0); code < 5000; code++ {
		err := &kv.Error{Code: code}
		got := verdict{kv.IsRetryable(err), kv.IsMaybeCommitted(err), kv.IsRetryableNotCommitted(err), kv.IsConflict(err)}
		if got != special[code] {
			t.Errorf("code %d: %+v, want %+v", code, got, special[code])
		}
	}
}

func TestPredicatesOfOtherErrors(t *testing.T) {
	for _, err := range []error{nil, kv.ErrClosed, kv.ErrOutcomeUnknown, context.DeadlineExceeded} {
		if kv.CodeOf(err) != 0 || kv.IsRetryable(err) || kv.IsMaybeCommitted(err) || kv.IsConflict(err) {
			t.Errorf("%v looks like an engine's error", err)
		}
	}
}

// TestIsOutcomeUnknown: after errors of these kinds a transaction may have committed.
func TestIsOutcomeUnknown(t *testing.T) {
	wrapped := fmt.Errorf("save: %w: %w", kv.ErrOutcomeUnknown, context.Canceled)
	for err, want := range map[error]bool{
		wrapped: true, kv.ErrOutcomeUnknown: true, kv.NewError(kv.CodeCommitUnknownResult, "x"): true,
		kv.NewError(kv.CodeClusterVersionChanged, "x"): true, kv.NewError(kv.CodeTransactionTimedOut, "of a read"): false,
		kv.NewError(kv.CodeNotCommitted, "x"): false, kv.NewError(kv.CodeTransactionTooOld, "x"): false, context.Canceled: false, kv.ErrClosed: false,
	} {
		if kv.IsOutcomeUnknown(err) != want {
			t.Errorf("IsOutcomeUnknown(%v) = %v", err, !want)
		}
	}
	if kv.IsOutcomeUnknown(nil) {
		t.Error("success is an unknown outcome")
	}
}

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  *kv.Error
		want string
	}{
		{&kv.Error{Code: kv.CodeKeyTooLarge}, "kv: key length exceeds limit (2102)"},
		{kv.NewError(kv.CodeKeyTooLarge, "%d bytes", 10001), "kv: key length exceeds limit (2102): 10001 bytes"},
		{&kv.Error{Code: 3}, "kv: unlisted error (3)"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

func ExampleIsConflict() {
	err := fmt.Errorf("reserving a seat: %w", kv.NewError(kv.CodeNotCommitted, "seat 12A"))
	fmt.Println(kv.IsConflict(err), kv.IsRetryable(err), kv.IsMaybeCommitted(err))
	fmt.Println(err)
	// Output:
	// true true false
	// reserving a seat: kv: transaction not committed due to conflict with another transaction (1020): seat 12A
}

func TestTransactionOptionsAreValidated(t *testing.T) {
	for _, right := range []kv.TransactionOptions{
		{},
		{Timeout: time.Millisecond, RetryLimit: 1, MaxRetryDelay: time.Hour, SizeLimit: 32, ReportConflictingKeys: true},
		{SizeLimit: kv.MaxTransactionSize},
	} {
		if err := right.Validate(); err != nil {
			t.Errorf("%+v: %v", right, err)
		}
	}
	wrong := kv.TransactionOptions{Timeout: time.Microsecond, RetryLimit: -1, MaxRetryDelay: -time.Second, SizeLimit: kv.MaxTransactionSize + 1}
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
