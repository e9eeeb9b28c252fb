// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestTags reads the tags that are limited, from keys as FoundationDB 7.3.79 writes them, and others below the same
// prefixes.
func TestTags(t *testing.T) {
	engine := enginetest.InProcess(t)
	err := engine.Transact(t.Context(), func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAccessSystemKeys, 0); err != nil {
			return err
		}
		for key, value := range map[string]string{
			"\xff/tagQuota/other":                             "\x14\x17\x0fP\x00", // what fdbcli's quota set has written
			"\xff/tagQuota/tenantx":                           "\x16\x10\x00\x16\x10\x00",
			"\xff/tagQuota/bad":                               "?",
			"\xff\x02/throttledTags/tag/\x00\x01\x06tenant":   "",
			"\xff\x02/throttledTags/tag/\x01\x01\x04load":     "",
			"\xff\x02/throttledTags/tag/\x01\x01\x09too long": "",
			"\xff\x02/throttledTags/signal":                   "",
		} {
			tx.Set([]byte(key), []byte(value))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), clustertest.Pretend(engine, clustertest.Double))
	if err != nil {
		t.Fatal(err)
	}
	want := []Tag{
		{Name: "load", By: "auto"},
		{Name: "other", By: "quota", Total: 1_003_520},
		{Name: "tenant", By: "manual"},
		{Name: "tenantx", By: "quota", Reserved: 4096, Total: 4096},
	}
	if !slices.Equal(s.Health.Tags, want) || s.Health.TagsUnknown != "" {
		t.Errorf("the tags are %+v (%s), want %+v", s.Health.Tags, s.Health.TagsUnknown, want)
	}
	faults := s.Health.Faults()
	const remark = "load by the cluster, other by a quota of 1003520 bytes a second (0 reserved), tenant by hand, tenantx by a quota"
	if len(faults) != 1 || faults[0].Code != Remarked || !strings.Contains(faults[0].Reason, remark) {
		t.Errorf("the faults are %+v, want a remark with %s", faults, remark)
	}
}
