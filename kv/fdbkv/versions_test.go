// SPDX-License-Identifier: Apache-2.0

package fdbkv

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestVersionCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &versionCache{}
		c.use()
		want := func(what string, staleness time.Duration, least, version int64) {
			t.Helper()
			if got, ok := c.fresh(staleness, least); ok != (version != 0) || ok && got != version {
				t.Errorf("%s: %d, %v, want %d", what, got, ok, version)
			}
		}
		want("empty", time.Second, 0, 0)
		asked := time.Now()
		c.note(10, asked)
		want("just noted", time.Second, 10, 10)
		want("not new enough", time.Second, 11, 0)
		want("without staleness", 0, 0, 0)
		time.Sleep(time.Second)
		want("as old as allowed", time.Second, 0, 10)
		time.Sleep(time.Nanosecond)
		want("too old", time.Second, 0, 0)
		c.note(9, time.Now())
		want("a lower version that was asked for later", time.Second, 0, 10)
		c.note(12, asked)
		want("a higher version that was asked for earlier", time.Millisecond, 0, 12)

		before := time.Now()
		time.Sleep(time.Nanosecond)
		c.expire()
		want("something was seen at another version", time.Second, 0, 0)
		c.note(13, before)
		want("asked for before that", time.Second, 0, 0)
		c.note(12, time.Now())
		want("asked for after that", time.Second, 0, 13)

		c.reject(12)
		want("another one was rejected", time.Second, 0, 13)
		c.reject(13)
		want("rejected", time.Second, 0, 0)
		c.note(4, before)
		want("asked for before a version was rejected", time.Second, 0, 0)
		c.note(-1, time.Now())
		c.reject(4)
		c.note(-1, time.Now())
		want("a commit that wrote nothing", time.Second, 0, 0)
		c.note(3, time.Now())
		want("of a database that was restored", time.Second, 0, 3)
		time.Sleep(time.Second + 1)
		c.note(-1, time.Now())
		want("another that wrote nothing", time.Second, 0, 0)
	})
}
