// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestRecordChangesAfterLoss: a save and a removal that lost their acknowledgement answer that
// they are done, each once; a second save of the same state answers that the record has changed.
func TestRecordChangesAfterLoss(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		e := &enginetest.Lossy{Database: openMemory(t)}
		s := startOn(t, e, Options{Write: true})
		var shown struct{ Etag, Text string }
		s.get("record", orders("id", firstOrder, "full", "1"), &shown)
		body := map[string]any{"path": []string{"tenants", "tenant-1", "orders"}, "type": "Order", "id": firstOrder, "etag": shown.Etag}
		body["record"] = strings.Replace(shown.Text, `"Amount": -300`, `"Amount": 77`, 1)

		var answer struct{ Error string }
		e.Lose(dropped, nil)
		status := s.post("record/save", body, &answer)
		o, err := bazaar.OrderStoreOf(s.db, "tenant-1").Get(t.Context(), 72623859790382856)
		if status != http.StatusOK || err != nil || o.Amount != 77 {
			t.Errorf("dropped %v: the save answers %d %s: %v, %v", dropped, status, answer.Error, o, err)
		}
		if status := s.post("record/save", body, &answer); status != http.StatusPreconditionFailed {
			t.Errorf("dropped %v: a save of a former state answers %d", dropped, status)
		}
		s.get("record", orders("id", firstOrder, "full", "1"), &shown)
		body["etag"] = shown.Etag
		e.Lose(dropped, nil)
		status = s.post("record/delete", body, &answer)
		_, err = bazaar.OrderStoreOf(s.db, "tenant-1").Get(t.Context(), 72623859790382856)
		if status != http.StatusOK || !errors.Is(err, persistable.ErrNotFound) {
			t.Errorf("dropped %v: the removal answers %d %s: %v", dropped, status, answer.Error, err)
		}
	}
}
