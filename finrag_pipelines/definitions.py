"""The code location. The graph on one page:

source_filings -> document_versions -> text_representations -> fragments -> fragment_embeddings   (one per source)
                                                                                  |
            answers <- current_index <- index_evaluation <- search_index <- corpus_manifest
                             |
   evaluation_sets -> evaluation_results -> evaluation_report   (configuration x eval set)
"""

from finrag_pipelines.build import build_defs

defs = build_defs()
