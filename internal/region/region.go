// Package region finds out in which DigitalOcean region the manager makes load
// balancers.
package region

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/digitalocean/godo"

	"digitalocean-cloud-controller-manager/internal/doapi"
)

const (
	metadataTimeout = 2 * time.Second
	metadataTries   = 3
	maxSlug         = 64
)

// FromMetadata asks the metadata service of the droplet that the manager runs
// on. It takes at most some seconds: the service is link-local and answers at
// once or not at all.
func FromMetadata(ctx context.Context, base *url.URL) (string, error) {
	client := &http.Client{Timeout: metadataTimeout}
	address := base.JoinPath("metadata/v1/region").String()
	var err error
	for range metadataTries {
		var slug string
		if slug, err = fetch(ctx, client, address); err == nil {
			return slug, nil
		}
	}
	return "", err
}

func fetch(ctx context.Context, client *http.Client, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSlug))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", address, err)
	}
	slug := strings.TrimSpace(string(body))
	if resp.StatusCode != http.StatusOK || slug == "" || strings.ContainsAny(slug, " <\n") {
		return "", fmt.Errorf("%s answered %s without a region", address, resp.Status)
	}
	return slug, nil
}

// UnknownError is a region that DigitalOcean doesn't have.
type UnknownError struct {
	Region string
	Known  []string
}

// Error names the regions that there are.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("DigitalOcean has no region %q, only %s", e.Region, strings.Join(e.Known, ", "))
}

// Check asks the API whether there is such a region. The error is an
// [*UnknownError] when there is not; any other error leaves it open.
func Check(ctx context.Context, api godo.RegionsService, slug string) error {
	regions, err := doapi.ListAll(ctx, api.List, func(r godo.Region) string { return r.Slug })
	if err != nil {
		return fmt.Errorf("list regions: %w", err)
	}
	known := make([]string, len(regions))
	for i, r := range regions {
		known[i] = r.Slug
	}
	slices.Sort(known)
	if !slices.Contains(known, slug) {
		return &UnknownError{Region: slug, Known: known}
	}
	return nil
}
