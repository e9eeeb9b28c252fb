// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// tenantTwo is the tenant that the tests remove.
var tenantTwo = []string{"tenants", "tenant-2"}

// showPrefix returns the prefix of a tenant that the page shows.
func (s *site) showPrefix(path []string) string {
	s.Helper()
	var shown struct{ Prefix string }
	if status := s.get("tenant", url.Values{"p": path}, &shown); status != http.StatusOK || shown.Prefix == "" {
		s.Fatalf("the tenant answers %d: %v", status, shown)
	}
	return shown.Prefix
}

// removeTenant asks for the removal of a tenant that was shown.
func (s *site) removeTenant(path []string, prefix string) (status int, reason string) {
	s.Helper()
	var answer struct{ Error string }
	status = s.post("tenant/remove", map[string]any{"path": path, "prefix": prefix}, &answer)
	return status, answer.Error
}

// exchange does what another process does: it moves the second tenant away, and puts a copy of the
// first at its path.
func (s *site) exchange() error {
	set := tenants.Of(s.db, "tenants")
	if err := set.Move(s.Context(), "tenant-2", "moved"); err != nil {
		return err
	}
	_, err := set.Copy(s.Context(), "tenant-1", "tenant-2", tenants.CopyOptions{})
	return err
}

// TestTenantVerbs locks a tenant, is refused its removal, unlocks and removes it.
func TestTenantVerbs(t *testing.T) {
	s := start(t, Options{Write: true})
	if status := s.post("tenant/lock", map[string]any{"path": tenantTwo, "reason": " "}, nil); status != http.StatusBadRequest {
		t.Errorf("a lock without a reason answers %d", status)
	}
	var lock struct{ ID string }
	if status := s.post("tenant/lock", map[string]any{"path": tenantTwo, "reason": "audit"}, &lock); status != http.StatusOK || lock.ID == "" {
		t.Fatalf("the lock answers %d: %v", status, lock)
	}
	prefix := s.showPrefix(tenantTwo)
	if status, reason := s.removeTenant(tenantTwo, prefix); status != http.StatusConflict || !strings.Contains(reason, "audit") {
		t.Errorf("the removal of a locked tenant answers %d: %s", status, reason)
	}
	if status := s.post("tenant/unlock", map[string]any{"path": tenantTwo, "lock": "another"}, nil); status != http.StatusConflict {
		t.Errorf("unlocking another lock answers %d", status)
	}
	if status := s.post("tenant/unlock", map[string]any{"path": tenantTwo, "lock": lock.ID}, nil); status != http.StatusOK {
		t.Errorf("unlocking answers %d", status)
	}
	if status, reason := s.removeTenant(tenantTwo, ""); status != http.StatusBadRequest || !strings.Contains(reason, "prefix") {
		t.Errorf("the removal of a tenant that was not shown answers %d: %s", status, reason)
	}
	if status, reason := s.removeTenant(tenantTwo, prefix); status != http.StatusOK {
		t.Errorf("the removal answers %d: %s", status, reason)
	}
	if r := s.awaitJob("remove"); r.Error != "" {
		t.Error(r.Error)
	}
	for _, system := range []string{"elections", "persistable"} {
		if status, reason := s.removeTenant([]string{"kazahana", system}, prefix); status != http.StatusBadRequest || !strings.Contains(reason, "needs") {
			t.Errorf("the removal of %s answers %d: %s", system, status, reason)
		}
	}
	if status := s.get("tenant", url.Values{"p": tenantTwo}, nil); status != http.StatusNotFound {
		t.Errorf("the tenant that was removed answers %d", status)
	}
}

const exchanged = "another process has put another directory at tenants/tenant-2 since it was shown: nothing was removed"

// TestRemoveTheTenantShown: a tenant that another process has put at the path after the page
// showed the one there stays, and the answer says so.
func TestRemoveTheTenantShown(t *testing.T) {
	s := start(t, Options{Write: true})
	prefix := s.showPrefix(tenantTwo)
	if err := s.exchange(); err != nil {
		t.Fatal(err)
	}
	if status, reason := s.removeTenant(tenantTwo, prefix); status != http.StatusConflict || !strings.Contains(reason, exchanged) {
		t.Errorf("the removal answers %d: %s", status, reason)
	}
	if status, reason := s.removeTenant(tenantTwo, s.showPrefix(tenantTwo)); status != http.StatusOK {
		t.Errorf("the removal of the other one, which was shown since, answers %d: %s", status, reason)
	}
	if r := s.awaitJob("remove"); r.Error != "" {
		t.Error(r.Error)
	}
}

// TestRemovalChecksInItsTransaction: the other process acts while the removal is under way.
func TestRemovalChecksInItsTransaction(t *testing.T) {
	engine := &enginetest.Lossy{Database: openMemory(t)}
	s := startOn(t, engine, Options{Write: true})
	prefix := s.showPrefix(tenantTwo)
	engine.Lose(true, s.exchange)
	if status, reason := s.removeTenant(tenantTwo, prefix); status != http.StatusOK {
		t.Fatalf("the removal answers %d: %s", status, reason)
	}
	if r := s.awaitJob("remove"); !strings.Contains(r.Error, exchanged) {
		t.Errorf("the removal ends with %q", r.Error)
	}
	if now := s.showPrefix(tenantTwo); now == prefix {
		t.Error("no other tenant was put at the path")
	}
}
