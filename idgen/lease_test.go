// SPDX-License-Identifier: Apache-2.0

package idgen_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
)

func exampleLease() idgen.Lease {
	return idgen.Lease{
		ID: 5, Created: idgen.DefaultCustomEpochMs + 1000, Expired: idgen.DefaultCustomEpochMs + 601000, Secret: "s",
		CustomEpoch: idgen.DefaultCustomEpochMs, BitReserve: 1, BitTs: 41, BitID: 14, BitSeq: 8,
	}
}

// TestLeaseJSON pins the names of the specification's section 4.2.
func TestLeaseJSON(t *testing.T) {
	got, err := json.Marshal(exampleLease())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":5,"created":1767225601000,"expired":1767226201000,"secret":"s","customEpoch":1767225600000,"bitReserve":1,"bitTs":41,"bitId":14,"bitSeq":8}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLeaseValidateReportsAllFaults(t *testing.T) {
	l := exampleLease()
	if err := l.Validate(); err != nil {
		t.Fatalf("a sound lease: %v", err)
	}
	l.ID, l.Created, l.Expired, l.Secret = 8192, idgen.DefaultCustomEpochMs, idgen.DefaultCustomEpochMs, ""
	err := l.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"0 to 8191", "not after the epoch", "not after its beginning", "no secret"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	for _, end := range []int64{l.Layout().Last().UnixMilli() + 2, math.MaxInt64} { // so far that sums with it overflow
		l = exampleLease()
		l.Expired = end
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "after the last millisecond") {
			t.Errorf("until %d: %v", end, err)
		}
	}
	l = exampleLease()
	l.BitTs = 42
	if err := l.Validate(); err == nil || !strings.Contains(err.Error(), "total 64") {
		t.Errorf("65 bits: %v", err)
	}
}

// TestReleaseSignatureBindsEverything changes each field of a signed request.
func TestReleaseSignatureBindsEverything(t *testing.T) {
	l := exampleLease()
	signed := l.Release("payments", l.Created+7, time.UnixMilli(l.Created+9))
	if !signed.Verify(l.Secret) {
		t.Fatal("a sound signature is refused")
	}
	for name, forge := range map[string]func(*idgen.ReleaseRequest){
		"service":   func(r *idgen.ReleaseRequest) { r.ServiceID = "other" },
		"id":        func(r *idgen.ReleaseRequest) { r.ID++ },
		"bitSeq":    func(r *idgen.ReleaseRequest) { r.BitSeq++ },
		"created":   func(r *idgen.ReleaseRequest) { r.Created++ },
		"lastTs":    func(r *idgen.ReleaseRequest) { r.LastTs-- },
		"timestamp": func(r *idgen.ReleaseRequest) { r.Timestamp++ },
		"signature": func(r *idgen.ReleaseRequest) { r.Signature = strings.ToUpper(r.Signature) },
		"none":      func(r *idgen.ReleaseRequest) { r.Signature = "" },
	} {
		forged := signed
		if forge(&forged); forged.Verify(l.Secret) {
			t.Errorf("%s: a forged request is accepted", name)
		}
	}
	if signed.Verify("another secret") {
		t.Error("another secret is accepted")
	}
}

// TestLiteralSignature compares signatures with the specification's, section 4.5,
// which were computed by openssl.
func TestLiteralSignature(t *testing.T) {
	const want = "a4eb4dc9f3ae58d7f1d43d1ebadff44f3632e2a84c32c1b605ec16cc373d3c31"
	l := exampleLease()
	l.ID, l.Secret = 7, "abc"
	signed := l.Release("payments", l.Created+7, time.UnixMilli(1767225601000))
	if signed.LiteralSignature != want || signed.IsLiteral() || !signed.Verify(l.Secret) {
		t.Errorf("signed %+v", signed)
	}
	received := idgen.ReleaseRequest{ServiceID: "payments", ID: 7, Timestamp: 1767225601000, Signature: want}
	if !received.IsLiteral() || received.Sign(l.Secret) != want || !received.Verify(l.Secret) || received.Verify("abcd") {
		t.Errorf("the specification's own release is refused: %+v", received)
	}
	received.ServiceID = ""
	if got := signed.Literal(); got != received {
		t.Errorf("made %+v, want %+v", got, received)
	}
	if received.Timestamp++; received.Verify(l.Secret) {
		t.Error("another timestamp is accepted")
	}
}
