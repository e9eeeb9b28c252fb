// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is what is not as it should be.
type Fault struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// The codes of faults.
const (
	Unavailable  = "cluster/unavailable"
	MissingData  = "cluster/missing-data"
	FewCopies    = "cluster/few-copies"
	SingleCopy   = "cluster/single-copy"
	NoTolerance  = "cluster/no-tolerance"
	Coordinators = "cluster/coordinators"
	LittleSpace  = "cluster/little-space"
	Lagging      = "cluster/lagging"
	Warned       = "cluster/message"
	Remarked     = "cluster/remark"
	MovingData   = "cluster/moving-data"
	Unknown      = "cluster/unknown"
)

// Codes returns the codes of all faults, the worst first.
func Codes() []string {
	return []string{Unavailable, MissingData, FewCopies, SingleCopy, NoTolerance, Coordinators, LittleSpace, Lagging, Warned, Remarked, MovingData, Unknown}
}

const (
	leastFree = 0.1 // share of a disk; at 0.05 the cluster takes no more writes
	mostData  = 15  // seconds
	mostDisk  = 60  // seconds; FoundationDB's own limit for its message

	// Versions jump ahead in a recovery, and storage servers seem to lag until they have written
	// the next ones.
	settled = 60 // seconds
)

// Faults returns what endangers data or availability, the worst first.
func (h Health) Faults() []Fault {
	if !h.Available {
		return append([]Fault{{Unavailable, h.whyUnavailable()}}, h.lostCoordinators()...)
	}
	faults := slices.Concat(h.dataFaults(), h.toleranceFaults(), h.lostCoordinators(), h.fullProcesses(), h.laggingProcesses(), h.messageFaults(), h.limitedTags())
	codes := Codes()
	slices.SortStableFunc(faults, func(a, b Fault) int { return slices.Index(codes, a.Code) - slices.Index(codes, b.Code) })
	return faults
}

// whyUnavailable says what the status knows of an outage.
func (h Health) whyUnavailable() string {
	reasons := []string{"the cluster does not take transactions"}
	if h.Recovery != "" {
		reasons = append(reasons, strings.TrimSuffix(h.Recovery, "."))
	}
	for _, m := range h.Messages {
		reasons = append(reasons, m.String())
	}
	return strings.Join(reasons, ": ")
}

func (h Health) dataFaults() []Fault {
	d := h.Data
	state := strings.ReplaceAll(cmp.Or(d.Description, d.State), "_", " ")
	switch {
	case d.Healthy == nil && state == "":
		return []Fault{{Unknown, "the status does not tell whether all data has its copies"}}
	case d.Healthy == nil:
		return []Fault{{Unknown, "the cluster does not know yet whether all data has its copies: " + state}}
	case d.State == "missing_data":
		return []Fault{{MissingData, "of some data no copy is there: " + state}}
	case !*d.Healthy:
		return []Fault{{FewCopies, fmt.Sprintf("some data has %s: %s", copiesText(d), state)}}
	case d.MovingBytes != nil && *d.MovingBytes > 0:
		return []Fault{{MovingData, fmt.Sprintf("%d bytes are being moved, or wait for it: %s", *d.MovingBytes, state)}}
	}
	return nil
}

func copiesText(d Data) string {
	switch {
	case d.Replicas == nil:
		return "too few copies"
	case *d.Replicas == 1:
		return "one copy left"
	}
	return fmt.Sprintf("%d copies left", *d.Replicas)
}

func (h Health) toleranceFaults() []Fault {
	t, mode := h.Tolerance, cmp.Or(h.Redundancy, "unknown")
	switch {
	case h.Redundancy == "single":
		return []Fault{{SingleCopy, "the redundancy mode is single: there is one copy of all data, and the loss of a disk loses it"}}
	case t.Data != nil && *t.Data <= 0:
		return []Fault{{NoTolerance, "the failure of one more zone may lose data, although the redundancy mode is " + mode}}
	case t.Availability != nil && *t.Availability <= 0:
		return []Fault{{NoTolerance, "the failure of one more zone stops the cluster, although the redundancy mode is " + mode}}
	}
	return nil
}

func (h Health) lostCoordinators() []Fault {
	var lost []string
	for _, c := range h.Coordinators {
		if c.Reachable != nil && !*c.Reachable {
			lost = append(lost, c.Address)
		}
	}
	if lost == nil {
		return nil
	}
	return []Fault{{Coordinators, fmt.Sprintf("of %d coordinators %d cannot be reached: %s", len(h.Coordinators), len(lost), some(lost))}}
}

func (h Health) fullProcesses() []Fault {
	var full []string
	for _, p := range h.Processes {
		if s := p.FreeShare; s != nil && *s < leastFree {
			full = append(full, fmt.Sprintf("%s (%.1f %%)", p.Address, *s*100))
		}
	}
	if full == nil {
		return nil
	}
	return []Fault{{LittleSpace, fmt.Sprintf("less than %d %% is free: %s", int(leastFree*100), some(full))}}
}

func (h Health) laggingProcesses() []Fault {
	if h.Recovered != nil && *h.Recovered < settled {
		return nil
	}
	var late []string
	for _, p := range h.Processes {
		if s := p.DataLag; s != nil && *s > mostData {
			late = append(late, fmt.Sprintf("%s applies commits %.0f s late", p.Address, *s))
		}
		if s := p.DurabilityLag; s != nil && *s > mostDisk {
			late = append(late, fmt.Sprintf("%s writes to its disk %.0f s late", p.Address, *s))
		}
	}
	if late == nil {
		return nil
	}
	return []Fault{{Lagging, some(late)}}
}

// remarks are messages that tell of no danger: of settings, of clients, and of what was not
// measured in time for the status.
var remarks = []string{
	"client_issues", "consistencycheck_disabled", "consistencycheck_suspendkey_fetch_timeout", "duplicate_mutation_fetch_timeout",
	"fetch_primary_dc_timedout", "fetch_storage_wiggler_stats_timeout", "layer_status_incomplete", "status_incomplete",
}

func (h Health) messageFaults() (faults []Fault) {
	for _, m := range h.Messages {
		code := Warned
		if slices.Contains(remarks, m.Name) {
			code = Remarked
		}
		faults = append(faults, Fault{code, m.String()})
	}
	return faults
}

// mostNamed is how many processes a reason names.
const mostNamed = 5

// some joins the first of a list, and says how many more there are.
func some(all []string) string {
	text := strings.Join(all[:min(len(all), mostNamed)], ", ")
	if more := len(all) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
