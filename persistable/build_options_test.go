// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/persistable"
)

// TestBuildOptions names each option that is out of its range, all of them at once.
func TestBuildOptions(t *testing.T) {
	for _, o := range []persistable.BuildOptions{{}, {Share: 0.01}, {Share: 1, Workers: 1000, Lease: time.Hour}} {
		check(t, o.Validate())
	}
	bad := persistable.BuildOptions{Workers: -1, Share: 1.5, BytesPerSecond: -1, RangeBytes: -1, Lease: -1}
	err := bad.Validate()
	for _, name := range []string{"Workers", "Share", "BytesPerSecond", "RangeBytes", "Lease"} {
		if err == nil || !strings.Contains(err.Error(), "BuildOptions."+name+" ") {
			t.Errorf("%s is not reported: %v", name, err)
		}
	}
	for _, share := range []float64{-1, 0.001, 1.01, math.NaN(), math.Inf(1)} {
		if err := (persistable.BuildOptions{Share: share}).Validate(); err == nil {
			t.Errorf("Share %v is allowed", share)
		}
	}
	if err := (persistable.BuildOptions{Workers: 1001}).Validate(); err == nil {
		t.Error("1001 workers are allowed")
	}
}
