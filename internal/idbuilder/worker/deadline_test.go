// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadline compares a deadline with a context of the standard library.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		asked := &deadline{parent: parent, at: time.Now().Add(time.Second)}
		unasked := &deadline{parent: parent, at: asked.at}
		child, stop := context.WithTimeout(asked, time.Hour)
		defer stop()
		if at, ok := asked.Deadline(); !ok || !at.Equal(asked.at) || asked.Value(key{}) != "v" || asked.Err() != nil || unasked.Err() != nil {
			t.Errorf("at first: %v, %v, %v", at, asked.Value(key{}), asked.Err())
		}
		time.Sleep(time.Second)
		<-asked.Done()
		<-child.Done()
		for _, c := range []context.Context{asked, unasked, child} {
			if !errors.Is(c.Err(), context.DeadlineExceeded) {
				t.Errorf("after the deadline: %v", c.Err())
			}
		}
		late := &deadline{parent: parent, at: time.Now().Add(time.Hour)}
		cancel()
		<-late.Done()
		if !errors.Is(late.Err(), context.Canceled) {
			t.Errorf("after the parent has ended: %v", late.Err())
		}
		asked.stopTimer()
		unasked.stopTimer()
		late.stopTimer()
	})
}
