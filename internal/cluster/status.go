// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// status is the document that a cluster's client has under [statusKey], as far as this package
// reads it. Any member may be absent.
type status struct {
	Client struct {
		Coordinators struct {
			Coordinators []Coordinator
		}
		Database struct{ Available bool } `json:"database_status"`
		Messages []message
	}
	Cluster struct {
		Clients struct {
			Versions []clientVersion `json:"supported_versions"`
		}
		Configuration struct {
			Redundancy string `json:"redundancy_mode"`
		}
		Data      dataStatus
		Tolerance struct {
			Data         *int `json:"max_zone_failures_without_losing_data"`
			Availability *int `json:"max_zone_failures_without_losing_availability"`
		} `json:"fault_tolerance"`
		Machines  map[string]struct{}
		Messages  []message
		Processes map[string]process
		QoS       qos
		Recovery  struct {
			Name, Description string
			Seconds           *float64 `json:"seconds_since_last_recovered"`
		} `json:"recovery_state"`
	}
}

type clientVersion struct {
	Version string `json:"client_version"`
	Count   int
}

type dataStatus struct {
	State struct {
		Name, Description string
		Healthy           *bool
		Replicas          *int `json:"min_replicas_remaining"`
	}
	Moving *struct {
		Flight int64 `json:"in_flight_bytes"`
		Queue  int64 `json:"in_queue_bytes"`
	} `json:"moving_data"`
	KeyValueBytes *int64 `json:"total_kv_size_bytes"`
	DiskBytes     *int64 `json:"total_disk_used_bytes"`
	LogSpace      *int64 `json:"least_operating_space_bytes_log_server"`
	StorageSpace  *int64 `json:"least_operating_space_bytes_storage_server"`
}

type qos struct {
	LimitedBy *Limit   `json:"performance_limited_by"`
	DataLag   *seconds `json:"worst_data_lag_storage_server"`
	Durable   *seconds `json:"worst_durability_lag_storage_server"`
	Tags      *struct {
		Manual, Auto struct{ Count int }
	} `json:"throttled_tags"`
}

type seconds struct{ Seconds float64 }

type process struct {
	Address, Version string
	Disk             struct {
		Free  float64 `json:"free_bytes"`
		Total float64 `json:"total_bytes"`
	}
	Messages []message
	Roles    []role
}

type role struct {
	Role      string
	DataLag   *seconds `json:"data_lag"`
	Durable   *seconds `json:"durability_lag"`
	Available float64  `json:"kvstore_available_bytes"`
	Total     float64  `json:"kvstore_total_bytes"`
}

type message struct{ Name, Type, Description string }

// parse reads a status. A member of another type than expected counts as absent.
func parse(document []byte) (Health, error) {
	var s status
	var unexpected *json.UnmarshalTypeError
	if err := json.Unmarshal(document, &s); err != nil && !errors.As(err, &unexpected) {
		return Health{}, fmt.Errorf("cluster: the status is not JSON: %w", err)
	}
	return s.health(), nil
}

func (s *status) health() Health {
	c := &s.Cluster
	h := Health{
		Available: s.Client.Database.Available, Recovery: cmp.Or(c.Recovery.Description, c.Recovery.Name), Recovered: c.Recovery.Seconds,
		Redundancy: c.Configuration.Redundancy, Tolerance: Tolerance(c.Tolerance), Data: c.Data.health(), Space: Space{c.Data.StorageSpace, c.Data.LogSpace},
		Lag: Lag{secondsOf(c.QoS.DataLag), secondsOf(c.QoS.Durable)}, LimitedBy: c.QoS.LimitedBy, Machines: len(c.Machines),
		Clients: []Client{}, Processes: []Process{}, Coordinators: append([]Coordinator{}, s.Client.Coordinators.Coordinators...), Messages: []Message{},
	}
	if t := c.QoS.Tags; t != nil {
		h.Throttled = &Throttles{t.Manual.Count, t.Auto.Count}
	}
	for _, v := range c.Clients.Versions {
		h.Clients = append(h.Clients, Client(v))
	}
	h.Messages = appendMessages(appendMessages(h.Messages, "", s.Client.Messages), "", c.Messages)
	for _, p := range slices.SortedFunc(maps.Values(c.Processes), func(a, b process) int { return strings.Compare(a.Address, b.Address) }) {
		h.Processes = append(h.Processes, p.health())
		h.Messages = appendMessages(h.Messages, p.Address, p.Messages)
	}
	return h
}

func (d *dataStatus) health() Data {
	result := Data{
		State: d.State.Name, Description: d.State.Description, Healthy: d.State.Healthy, Replicas: d.State.Replicas,
		KeyValueBytes: d.KeyValueBytes, DiskBytes: d.DiskBytes,
	}
	if m := d.Moving; m != nil {
		result.MovingBytes = new(m.Flight + m.Queue)
	}
	return result
}

func (p *process) health() Process {
	result := Process{Address: p.Address, Version: p.Version, Roles: []string{}, FreeShare: shareOf(p.Disk.Free, p.Disk.Total)}
	for _, r := range p.Roles {
		result.Roles = append(result.Roles, r.Role)
		result.FreeShare = least(result.FreeShare, shareOf(r.Available, r.Total))
		result.DataLag = most(result.DataLag, secondsOf(r.DataLag))
		result.DurabilityLag = most(result.DurabilityLag, secondsOf(r.Durable))
	}
	slices.Sort(result.Roles)
	result.Roles = slices.Compact(result.Roles)
	return result
}

func appendMessages(to []Message, process string, from []message) []Message {
	for _, m := range from {
		to = append(to, Message{Name: cmp.Or(m.Name, m.Type), Description: m.Description, Process: process})
	}
	return to
}

func secondsOf(s *seconds) *float64 {
	if s == nil {
		return nil
	}
	return &s.Seconds
}

// shareOf returns a part as a share of the total; nil if there is no total.
func shareOf(part, total float64) *float64 {
	if total <= 0 {
		return nil
	}
	return new(math.Max(0, part/total))
}

// least returns the smaller one of those that are there.
func least(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// most returns the larger one of those that are there.
func most(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
