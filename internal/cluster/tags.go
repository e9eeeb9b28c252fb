// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Tag is a tag of transactions that is limited.
type Tag struct {
	Name string `json:"name"`
	// By says by what: quota, manual (fdbcli's throttle) or auto (the cluster).
	By string `json:"by"`
	// Reserved and Total are the bytes a second of a quota: what the tag always has, and the most
	// that it gets.
	Reserved int64 `json:"reservedBytes,omitempty"`
	Total    int64 `json:"totalBytes,omitempty"`
}

// String says what limits the tag.
func (t Tag) String() string {
	if t.By == byQuota {
		return fmt.Sprintf("%s by a quota of %d bytes a second (%d reserved)", t.Name, t.Total, t.Reserved)
	}
	return t.Name + " by " + map[string]string{byHand: "hand", byCluster: "the cluster"}[t.By]
}

// Where a cluster has limits of tags. A key of a quota ends with the tag; its value is the packed tuple
// (reserved, total). A key of a throttle ends with two bytes, the kind and the priority, and then a byte with the
// length of the tag, and the tag.
const (
	quotaKeys    = "\xff/tagQuota/"
	throttleKeys = "\xff\x02/throttledTags/tag/"
)

// By what tags are limited, and the kinds of throttles in keys.
const (
	byQuota, byHand, byCluster = "quota", "manual", "auto"
	manualThrottle             = 0
)

const (
	mostTags     = 1000            // that are read of each
	tagsPatience = 2 * time.Second // a cluster may stop to answer after its status
)

// readTags reads which tags are limited.
func readTags(ctx context.Context, db kv.Database) (tags []Tag, err error) {
	ctx, cancel := context.WithTimeout(ctx, tagsPatience)
	defer cancel()
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		tags = nil
		for _, o := range []kv.Option{kv.OptionReadSystemKeys, kv.OptionReadLockAware} {
			if err := tx.SetOption(o, 0); err != nil {
				return err
			}
		}
		for prefix, parse := range map[string]func([]byte, []byte) (Tag, bool){quotaKeys: parseQuota, throttleKeys: parseThrottle} {
			pairs, err := tx.Snapshot().GetRange(kv.PrefixRange([]byte(prefix)).Selectors(), kv.RangeOptions{Limit: mostTags}).Slice(ctx)
			if err != nil {
				return err
			}
			for _, pair := range pairs {
				if t, ok := parse(bytes.TrimPrefix(pair.Key, []byte(prefix)), pair.Value); ok {
					tags = append(tags, t)
				}
			}
		}
		return nil
	})
	slices.SortFunc(tags, func(a, b Tag) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.By, b.By)) })
	return tags, err
}

func parseQuota(name, value []byte) (t Tag, ok bool) {
	limits, err := tuple.Unpack(value)
	if err != nil || len(limits) != 2 {
		return t, false
	}
	t = Tag{Name: string(name), By: byQuota}
	t.Reserved, _ = limits[0].(int64)
	t.Total, ok = limits[1].(int64)
	return t, ok
}

func parseThrottle(key, _ []byte) (t Tag, ok bool) {
	if len(key) < 3 || len(key) != 3+int(key[2]) {
		return t, false
	}
	t = Tag{Name: string(key[3:]), By: byCluster}
	if key[0] == manualThrottle {
		t.By = byHand
	}
	return t, true
}

// limitedTags returns the remark on tags that are limited.
func (h Health) limitedTags() []Fault {
	if len(h.Tags) == 0 {
		return nil
	}
	var texts []string
	for _, t := range h.Tags {
		texts = append(texts, t.String())
	}
	return []Fault{{Remarked, "transactions with these tags are limited: " + strings.Join(texts, ", ")}}
}
