package simulator

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	defaultRegion  = "nyc3"
	defaultSize    = "s-2vcpu-4gb"
	defaultGPUSize = "gpu-h100x1-80gb"
	defaultImage   = "ubuntu-24-04-x64"
)

// catalog is what DigitalOcean offers: regions, sizes, images. It is the same
// for every team. Objects are shared by all that point to them and must not be
// changed once they are in it.
type catalog struct {
	regions *collection[string, Region]
	sizes   *collection[string, Size]
	images  *collection[string, Image]
}

var regionTable = []struct {
	slug, name string
	available  bool
}{
	{"nyc1", "New York 1", true}, {"sfo1", "San Francisco 1", false}, {"nyc2", "New York 2", false},
	{"ams2", "Amsterdam 2", false}, {"sgp1", "Singapore 1", true}, {"lon1", "London 1", true},
	{"nyc3", "New York 3", true}, {"ams3", "Amsterdam 3", true}, {"fra1", "Frankfurt 1", true},
	{"tor1", "Toronto 1", true}, {"sfo2", "San Francisco 2", true}, {"blr1", "Bangalore 1", true},
	{"sfo3", "San Francisco 3", true}, {"syd1", "Sydney 1", true}, {"atl1", "Atlanta 1", true},
	{"ric1", "Richmond 1", true},
}

var gpuRegions = []string{"nyc2", "tor1", "atl1", "nyc3"}

type sizeRow struct {
	slug                string
	memory, vcpus, disk int
	transfer, monthly   float64
	description         string
}

var sizeTable = []sizeRow{
	{"s-1vcpu-512mb-10gb", 512, 1, 10, 0.5, 4, "Basic"},
	{"s-1vcpu-1gb", 1024, 1, 25, 1, 6, "Basic"},
	{"s-1vcpu-1gb-amd", 1024, 1, 25, 1, 7, "Basic AMD"},
	{"s-1vcpu-1gb-intel", 1024, 1, 25, 1, 7, "Basic Intel"},
	{"s-1vcpu-2gb", 2048, 1, 50, 2, 12, "Basic"},
	{"s-2vcpu-2gb", 2048, 2, 60, 3, 18, "Basic"},
	{"s-2vcpu-4gb", 4096, 2, 80, 4, 24, "Basic"},
	{"s-2vcpu-4gb-amd", 4096, 2, 80, 4, 28, "Basic AMD"},
	{"s-2vcpu-4gb-intel", 4096, 2, 80, 4, 28, "Basic Intel"},
	{"s-4vcpu-8gb", 8192, 4, 160, 5, 48, "Basic"},
	{"s-4vcpu-8gb-amd", 8192, 4, 160, 5, 56, "Basic AMD"},
	{"s-4vcpu-8gb-intel", 8192, 4, 160, 5, 56, "Basic Intel"},
	{"s-8vcpu-16gb", 16384, 8, 320, 6, 96, "Basic"},
	{"s-8vcpu-16gb-amd", 16384, 8, 320, 6, 112, "Basic AMD"},
	{"c-2", 4096, 2, 25, 4, 42, "CPU-Optimized"},
	{"c-4", 8192, 4, 50, 5, 84, "CPU-Optimized"},
	{"c-8", 16384, 8, 100, 6, 168, "CPU-Optimized"},
	{"c-16", 32768, 16, 200, 7, 336, "CPU-Optimized"},
	{"g-2vcpu-8gb", 8192, 2, 25, 4, 63, "General Purpose"},
	{"g-4vcpu-16gb", 16384, 4, 50, 5, 126, "General Purpose"},
	{"g-8vcpu-32gb", 32768, 8, 100, 6, 252, "General Purpose"},
	{"g-16vcpu-64gb", 65536, 16, 200, 7, 504, "General Purpose"},
	{"gd-2vcpu-8gb", 8192, 2, 50, 4, 68, "General Purpose — 2x SSD"},
	{"gd-4vcpu-16gb", 16384, 4, 100, 5, 136, "General Purpose — 2x SSD"},
	{"m-2vcpu-16gb", 16384, 2, 50, 4, 84, "Memory-Optimized"},
	{"m-4vcpu-32gb", 32768, 4, 100, 6, 168, "Memory-Optimized"},
	{"m-8vcpu-64gb", 65536, 8, 200, 7, 336, "Memory-Optimized"},
	{"so-2vcpu-16gb", 16384, 2, 300, 4, 131, "Storage-Optimized"},
	{"so-4vcpu-32gb", 32768, 4, 600, 6, 262, "Storage-Optimized"},
	{"gpu-h100x1-80gb", 245760, 20, 720, 15, 2522.16, "H100 GPU - 1X"},
	{"gpu-h100x8-640gb", 1966080, 160, 2046, 60, 17796.48, "H100 GPU - 8X"},
	{"gpu-mi300x1-192gb", 245760, 20, 720, 15, 1480.56, "AMD MI300X - 1X"},
}

var gpuTable = map[string]GPUInfo{
	"gpu-h100x1-80gb":   {Count: 1, Model: "nvidia_h100", VRAM: Amount{80, "gib"}},
	"gpu-h100x8-640gb":  {Count: 8, Model: "nvidia_h100", VRAM: Amount{640, "gib"}},
	"gpu-mi300x1-192gb": {Count: 1, Model: "amd_mi300x", VRAM: Amount{192, "gib"}},
}

var imageTable = []struct{ slug, name, distribution string }{
	{"ubuntu-22-04-x64", "22.04 (LTS) x64", "Ubuntu"},
	{"ubuntu-24-04-x64", "24.04 (LTS) x64", "Ubuntu"},
	{"debian-12-x64", "12 x64", "Debian"},
	{"debian-13-x64", "13 x64", "Debian"},
	{"rockylinux-9-x64", "9 x64", "Rocky Linux"},
	{"fedora-42-x64", "42 x64", "Fedora"},
}

func newCatalog() *catalog {
	c := &catalog{
		regions: newCollection[string, Region](),
		sizes:   newCollection[string, Size](),
		images:  newCollection[string, Image](),
	}
	offered, everywhere := []string{}, []string{}
	for _, r := range regionTable {
		everywhere = append(everywhere, r.slug)
		if r.available {
			offered = append(offered, r.slug)
		}
	}
	for _, row := range sizeTable {
		size := newSize(row, offered)
		c.sizes.add(row.slug, &size)
	}
	for _, r := range regionTable {
		region := newRegion(r.slug, r.name, r.available)
		for size := range c.sizes.all() {
			if r.available && slices.Contains(size.Regions, r.slug) {
				region.Sizes = append(region.Sizes, size.Slug)
			}
		}
		c.regions.add(r.slug, &region)
	}
	for _, i := range imageTable {
		c.addImage(i.slug, i.name, i.distribution, everywhere)
	}
	return c
}

func newRegion(slug, name string, available bool) Region {
	return Region{
		Slug: slug, Name: name, Available: available, Sizes: []string{},
		Features: []string{"backups", "ipv6", "metadata", "install_agent", "storage", "image_transfer"},
	}
}

func newSize(row sizeRow, regions []string) Size {
	size := Size{
		Slug: row.slug, Memory: row.memory, VCPUs: row.vcpus, Disk: row.disk, Transfer: row.transfer,
		// The monthly price is capped at 672 hours.
		PriceMonthly: row.monthly, PriceHourly: float64(int(row.monthly/672*1e5+0.5)) / 1e5,
		Regions: regions, Available: true, Description: row.description,
		DiskInfo: []DiskInfo{{Type: "local", Size: Amount{row.disk, "gib"}}},
	}
	if gpu, ok := gpuTable[row.slug]; ok {
		size.GPUInfo, size.Regions = &gpu, gpuRegions
	}
	return size
}

func (c *catalog) addImage(slug, name, distribution string, regions []string) *Image {
	image := &Image{
		ID: 150_000_000 + c.images.len(), Name: name, Distribution: distribution, Slug: &slug, Public: true,
		// Regions newer than these are not known to images.
		Regions:   slices.DeleteFunc(append([]string{}, regions...), func(r string) bool { return r == "atl1" || r == "ric1" }),
		CreatedAt: time.Date(2025, time.January, 15, 9, 0, 0, 0, time.UTC),
		Type:      "base", MinDiskSize: 7, SizeGigabytes: 2.5, Description: distribution + " " + name,
		Tags: []string{}, Status: "available",
	}
	c.images.add(slug, image)
	return image
}

// image finds an image by slug or by id.
func (c *catalog) image(ref string) (*Image, bool) {
	if image, ok := c.images.get(ref); ok {
		return image, true
	}
	for image := range c.images.all() {
		if strconv.Itoa(image.ID) == ref {
			return image, true
		}
	}
	return nil, false
}

var sizeSlug = regexp.MustCompile(`(\d+)vcpu-(\d+)gb`)

// sizeFor returns the size of this slug, making up one that is not offered, so
// that tests can have droplets of any size.
func (c *catalog) sizeFor(slug string) *Size {
	if size, ok := c.sizes.get(slug); ok {
		return size
	}
	row := sizeRow{slug: slug, memory: 4096, vcpus: 2, disk: 80, transfer: 4, monthly: 24, description: "Basic"}
	if parts := sizeSlug.FindStringSubmatch(slug); parts != nil {
		row.vcpus, _ = strconv.Atoi(parts[1])
		gigabytes, _ := strconv.Atoi(parts[2])
		row.memory = gigabytes * 1024
	}
	size := newSize(row, []string{})
	if strings.HasPrefix(slug, "gpu-") {
		size.GPUInfo = &GPUInfo{Count: 1, Model: "nvidia_h100", VRAM: Amount{80, "gib"}}
	}
	c.sizes.add(slug, &size)
	return &size
}

// regionFor returns the region of this slug, making up one that is not known.
func (c *catalog) regionFor(slug string) *Region {
	if region, ok := c.regions.get(slug); ok {
		return region
	}
	region := newRegion(slug, strings.ToUpper(slug), true)
	c.regions.add(slug, &region)
	return &region
}

// imageFor returns the image of this slug, making up one that is not known.
func (c *catalog) imageFor(slug string) *Image {
	if image, ok := c.image(slug); ok {
		return image
	}
	return c.addImage(slug, fmt.Sprintf("%s x64", slug), "Unknown", nil)
}

func addCatalogRoutes(t *router) {
	t.add(http.MethodGet, "/v2/regions", func(c *call) (reply, error) {
		return list(c, "regions", c.s.catalog.regions.items, same[*Region])
	})
	t.add(http.MethodGet, "/v2/sizes", func(c *call) (reply, error) {
		return list(c, "sizes", c.s.catalog.sizes.items, same[*Size])
	})
}

func same[T any](v T) T { return v }
