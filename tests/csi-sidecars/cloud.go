package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// longestAnswer is the most bytes that are read of an answer.
const longestAnswer = 4 << 20

// volume is a volume as the API shows it.
type volume struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Size     int64   `json:"size_gigabytes"`
	Droplets []int64 `json:"droplet_ids"`
}

// action is a change of a volume that goes on after the answer.
type action struct {
	ID     int64  `json:"id"`
	Status string `json:"status"`
}

// refusal is an answer of the API that is no success.
type refusal struct {
	code    int
	Message string `json:"message"`
}

func (it *refusal) Error() string {
	return fmt.Sprintf("the API answers %d: %s", it.code, it.Message)
}

// refused is the refusal that an error is; one with the code 0 if it is another error.
func refused(err error) refusal {
	var found *refusal
	if errors.As(err, &found) {
		return *found
	}
	return refusal{}
}

// cloud asks DigitalOcean's API, with the calls that spec/volumes.md, §4.2, says the vendor's driver makes.
type cloud struct {
	url, token, region string
	client             http.Client
}

// ask makes a request. An answer's body is read into answer, unless that is nil.
func (it *cloud) ask(ctx context.Context, method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		written, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(written)
	}
	request, err := http.NewRequestWithContext(ctx, method, it.url+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+it.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := it.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		refusal := refusal{code: response.StatusCode, Message: "without words"}
		_ = json.Unmarshal(text, &refusal)
		return &refusal
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// list is the volumes of the region with this name, or all of them.
func (it *cloud) list(ctx context.Context, name string) ([]volume, error) {
	const page = 200
	var all []volume
	for number := 1; ; number++ {
		query := url.Values{"region": {it.region}}
		if name != "" {
			query.Set("name", name)
		} else {
			query.Set("per_page", fmt.Sprint(page))
			query.Set("page", fmt.Sprint(number))
		}
		var answer struct {
			Volumes []volume `json:"volumes"`
		}
		if err := it.ask(ctx, http.MethodGet, "/v2/volumes?"+query.Encode(), nil, &answer); err != nil {
			return nil, err
		}
		all = append(all, answer.Volumes...)
		if name != "" || len(answer.Volumes) < page {
			return all, nil
		}
	}
}

func (it *cloud) volume(ctx context.Context, id string) (volume, error) {
	var answer struct {
		Volume volume `json:"volume"`
	}
	err := it.ask(ctx, http.MethodGet, "/v2/volumes/"+url.PathEscape(id), nil, &answer)
	return answer.Volume, err
}

func (it *cloud) droplet(ctx context.Context, id int64) error {
	return it.ask(ctx, http.MethodGet, fmt.Sprintf("/v2/droplets/%d", id), nil, nil)
}

func (it *cloud) create(ctx context.Context, name string, gigabytes int64) (volume, error) {
	body := map[string]any{
		"region":         it.region,
		"name":           name,
		"description":    "Created by DigitalOcean CSI driver",
		"size_gigabytes": gigabytes,
	}
	var answer struct {
		Volume volume `json:"volume"`
	}
	err := it.ask(ctx, http.MethodPost, "/v2/volumes", body, &answer)
	return answer.Volume, err
}

func (it *cloud) delete(ctx context.Context, id string) error {
	return it.ask(ctx, http.MethodDelete, "/v2/volumes/"+url.PathEscape(id), nil, nil)
}

// act begins an action, and waits for its end: it asks once a second, and one that has failed is waited for as long as the caller waits.
func (it *cloud) act(ctx context.Context, id string, body map[string]any) error {
	actions := "/v2/volumes/" + url.PathEscape(id) + "/actions"
	var answer struct {
		Action action `json:"action"`
	}
	if err := it.ask(ctx, http.MethodPost, actions, body, &answer); err != nil {
		return err
	}
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	one := fmt.Sprintf("%s/%d", actions, answer.Action.ID)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
			// A question that fails is followed by the next one.
			if err := it.ask(ctx, http.MethodGet, one, nil, &answer); err == nil && answer.Action.Status == "completed" {
				return nil
			}
		}
	}
}
